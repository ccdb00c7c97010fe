package kernels

// Narrow stores n float32 numbers as t.
func Narrow(t Type, n int64, y, x Ptr) Launch {
	return launch("narrow_"+t.String(), vectors(t, n), n, y, x)
}

// Widen reads n numbers of type t as float32.
func Widen(t Type, n int64, y, x Ptr) Launch {
	return launch("widen_"+t.String(), vectors(t, n), n, y, x)
}

// Add sets y = a + b. y may be a or b.
func Add(t Type, n int64, y, a, b Ptr) Launch {
	return launch("add_"+t.String(), vectors(t, n), n, y, a, b)
}

// Scale sets y = s*a. y may be a.
func Scale(t Type, n int64, y, a Ptr, s float32) Launch {
	return launch("scale_"+t.String(), vectors(t, n), n, y, a, s)
}

// ReLU sets y = max(x, 0). y may be x.
func ReLU(t Type, n int64, y, x Ptr) Launch {
	return launch("relu_"+t.String(), vectors(t, n), n, y, x)
}

// ReLUGrad sets dx = dy where y > 0, else 0. dx may be dy.
func ReLUGrad(t Type, n int64, dx, dy, y Ptr) Launch {
	return launch("relu_grad_"+t.String(), vectors(t, n), n, dx, dy, y)
}

// Bound sets y = min(max(x, 0), ceiling). y may be x.
func Bound(t Type, n int64, y, x Ptr, ceiling float32) Launch {
	return launch("bound_"+t.String(), vectors(t, n), n, y, x, ceiling)
}

// BoundGrad sets dx = dy where 0 < y < ceiling, else 0. dx may be dy.
func BoundGrad(t Type, n int64, dx, dy, y Ptr, ceiling float32) Launch {
	return launch("bound_grad_"+t.String(), vectors(t, n), n, dx, dy, y, ceiling)
}

// GELU sets y = x Phi(x), form as engine.GELUForm. y may be x.
func GELU(t Type, n int64, y, x Ptr, form int) Launch {
	return launch("gelu_"+t.String(), vectors(t, n), n, y, x, form)
}

// GELUGrad is its gradient. dx may be dy.
func GELUGrad(t Type, n int64, dx, dy, x Ptr, form int) Launch {
	return launch("gelu_grad_"+t.String(), vectors(t, n), n, dx, dy, x, form)
}

// ChannelAffine sets y = act(x*scale + shift + residual) for n numbers in c
// channels. scale, shift (c float32) and residual (like x) may be 0; y may be x.
// act bounds to [0, ceiling] unless that is 0: ReLU has +Inf.
func ChannelAffine(t Type, n int64, c int, y, x, scale, shift, residual Ptr, ceiling float32) Launch {
	return launch("channel_affine_"+t.String(), vectors(t, n), n, c, y, x, scale, shift, residual, ceiling)
}

// ChannelNorm sets y = (x - mean)*inv*gamma + beta. y may be x.
func ChannelNorm(t Type, n int64, c int, y, x, mean, inv, gamma, beta Ptr) Launch {
	return launch("channel_norm_"+t.String(), vectors(t, n), n, c, y, x, mean, inv, gamma, beta)
}

// BatchNormDX is batch norm's gradient for its input, from dbeta and dgamma and
// each, one over the number of values of a channel.
func BatchNormDX(t Type, n int64, c int, dx, dy, x, gamma, mean, inv, dbeta, dgamma Ptr, each float32) Launch {
	return launch("batch_norm_dx_"+t.String(), vectors(t, n), n, c, dx, dy, x, gamma, mean, inv, dbeta, dgamma, each)
}

// CopyRows copies c numbers of each of rows rows, from column srcFrom of rows
// srcWidth long to column dstFrom of rows dstWidth long: concatenation and slices
// of channels, tokens of sequences.
func CopyRows(t Type, rows, c int64, dst Ptr, dstWidth, dstFrom int64, src Ptr, srcWidth, srcFrom int64) Launch {
	return launch("copy_rows_"+t.String(), vectors(t, rows*c), rows, c, dst, dstWidth, dstFrom, src, srcWidth, srcFrom)
}

// SliceReLUGrad sets dx (rows, c) to columns from and on of dy where y is above 0,
// else 0; dy and y have rows of the given width.
func SliceReLUGrad(t Type, rows, c int64, dx, dy, y Ptr, width, from int64) Launch {
	return launch("slice_relu_grad_"+t.String(), vectors(t, rows*c), rows, c, dx, dy, y, width, from)
}

// FromPlanar turns float32 images (n, c, hw) into maps (n, hw, c) of type t.
func FromPlanar(t Type, n, c, hw int, y, x Ptr) Launch {
	return launch("from_planar_"+t.String(), [3]int{tiles(hw, 32), tiles(c, 32), n}, c, hw, y, x)
}

// ToPlanar turns maps (n, hw, c) of type t into float32 images (n, c, hw).
func ToPlanar(t Type, n, c, hw int, y, x Ptr) Launch {
	return launch("to_planar_"+t.String(), [3]int{tiles(hw, 32), tiles(c, 32), n}, c, hw, y, x)
}

// Image turns n bytes in c channels into y, the numbers that stand for them: numbers
// has 256 for each channel of y, whose order is the bytes' or, if asked, that
// reversed.
func Image(t Type, n int64, c int, y, x, numbers Ptr, reverse bool) Launch {
	return launch("image_"+t.String(), vectors(t, n), n, c, y, x, numbers, reverse)
}

// NonFinite sets the uint32 at bad to 1 if x holds NaN or infinity.
func NonFinite(t Type, n int64, x, bad Ptr) Launch {
	return launch("non_finite_"+t.String(), flat(n), n, x, bad)
}
