package kernels

// Window is the geometry of a pooling: n images of h x w positions and c
// channels, ho x wo windows of kh x kw, strides and padding.
type Window struct {
	N, H, W, C, HO, WO     int
	KH, KW, SH, SW, PH, PW int
}

func (w Window) in() int64  { return int64(w.N) * int64(w.H) * int64(w.W) * int64(w.C) }
func (w Window) out() int64 { return int64(w.N) * int64(w.HO) * int64(w.WO) * int64(w.C) }

func (w Window) launch(name string, t Type, n int64, more ...any) Launch {
	args := []any{n, w.H, w.W, w.C, w.HO, w.WO, w.KH, w.KW, w.SH, w.SW, w.PH, w.PW}
	return launch(name+"_"+t.String(), vectors(t, n), append(args, more...)...)
}

// MaxPool takes the maximum of each window; NaN wins.
func MaxPool(t Type, w Window, y, x Ptr) Launch {
	return w.launch("max_pool", t, w.out(), y, x)
}

// MaxPlaces sets places (n, ho, wo, c), 16 bits each, to where in its window, row by row,
// MaxPool finds what it takes: the first maximum, or the first NaN.
func MaxPlaces(t Type, w Window, places, x Ptr) Launch {
	return w.launch("max_places", t, w.out(), places, x)
}

// PlaceSize is the size of a place in bytes, MaxPlace the largest.
const (
	PlaceSize = 2
	MaxPlace  = 1<<16 - 1
)

// MaxPoolGrad gives dy to the places of MaxPlaces.
func MaxPoolGrad(t Type, w Window, dx, dy, places Ptr) Launch {
	return w.launch("max_pool_grad", t, w.in(), dx, dy, places)
}

// AvgPool averages each window, countPad as layers.PoolSpec.CountPad.
func AvgPool(t Type, w Window, countPad bool, y, x Ptr) Launch {
	return w.launch("avg_pool", t, w.out(), countPad, y, x)
}

// AvgPoolGrad is its gradient.
func AvgPoolGrad(t Type, w Window, countPad bool, dx, dy Ptr) Launch {
	return w.launch("avg_pool_grad", t, w.in(), countPad, dx, dy)
}

// GlobalAvg sets y (n, c) float32 to the mean of x (n, hw, c).
func GlobalAvg(t Type, n, hw, c int, y, x Ptr) Launch {
	return launch("global_avg_"+t.String(), [3]int{tiles(c, 32), n, 1}, hw, c, y, x)
}

// GlobalAvgGrad is its gradient.
func GlobalAvgGrad(t Type, n, hw, c int, dx, dy Ptr) Launch {
	e := int64(n) * int64(hw) * int64(c)
	return launch("global_avg_grad_"+t.String(), vectors(t, e), e, hw, c, dx, dy)
}

// GlobalMax sets y (n, c) float32 to the maximum of x (n, hw, c), and place
// (n, c) int32 to where its first is. Either may be 0.
func GlobalMax(t Type, n, hw, c int, y, place, x Ptr) Launch {
	return launch("global_max_"+t.String(), [3]int{tiles(c, 32), n, 1}, hw, c, y, place, x)
}

// GlobalMaxGrad gives dy to place.
func GlobalMaxGrad(t Type, n, hw, c int, dx, dy, place Ptr) Launch {
	e := int64(n) * int64(hw) * int64(c)
	return launch("global_max_grad_"+t.String(), vectors(t, e), e, hw, c, dx, dy, place)
}
