package kernels

// Conv is the geometry of a convolution: n images of h x w positions and c
// channels, k kernels of r x s, ho x wo outputs, padding and strides.
type Conv struct {
	N, H, W, C, K, R, S, HO, WO int
	PH, PW, SH, SW              int
}

func (g Conv) launch(name string, n int64, more ...any) Launch {
	args := []any{n}
	if len(more) == 4 { // the gradient of the weights runs over images itself
		args, more = append(args, more[0]), more[1:]
	}
	args = append(args, g.H, g.W, g.C, g.HO, g.WO, g.K, g.R, g.S, g.PH, g.PW, g.SH, g.SW)
	return launch(name, flat(n), append(args, more...)...)
}

// ConvDirect sets y from x and w, one output at a time: slow, for any geometry.
func ConvDirect(t Type, g Conv, y, x, w Ptr) Launch {
	return g.launch("conv_direct_"+t.String(), int64(g.N)*int64(g.HO)*int64(g.WO)*int64(g.K), y, x, w)
}

// ConvDirectDX sets dx from dy and w.
func ConvDirectDX(t Type, g Conv, dx, dy, w Ptr) Launch {
	return g.launch("conv_direct_dx_"+t.String(), int64(g.N)*int64(g.H)*int64(g.W)*int64(g.C), dx, dy, w)
}

// ConvDirectDW sets dw, of type t, from dy and x.
func ConvDirectDW(t Type, g Conv, dw, dy, x Ptr) Launch {
	return g.launch("conv_direct_dw_"+t.String(), int64(g.K)*int64(g.R)*int64(g.S)*int64(g.C), g.N, dw, dy, x)
}

// Depthwise sets y from x and w (C, R, S), each channel by its own kernel, C = K.
func Depthwise(t Type, g Conv, y, x, w Ptr) Launch {
	return g.launch("depthwise_"+t.String(), int64(g.N)*int64(g.HO)*int64(g.WO)*int64(g.K), y, x, w)
}

// DepthwiseDX sets dx from dy and w.
func DepthwiseDX(t Type, g Conv, dx, dy, w Ptr) Launch {
	return g.launch("depthwise_dx_"+t.String(), int64(g.N)*int64(g.H)*int64(g.W)*int64(g.C), dx, dy, w)
}

// DepthwiseDW sets dw (C, R, S), of type t, from dy and x.
func DepthwiseDW(t Type, g Conv, dw, dy, x Ptr) Launch {
	return g.launch("depthwise_dw_"+t.String(), int64(g.C)*int64(g.R)*int64(g.S), g.N, dw, dy, x)
}
