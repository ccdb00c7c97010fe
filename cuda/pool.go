package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// window checks the arguments of a pooling of x to y.
func (a *args) window(x, y named, s engine.PoolSpec) kernels.Window {
	a.check(s.KernelH > 0 && s.KernelW > 0 && s.StrideH > 0 && s.StrideW > 0 && s.PadH >= 0 && s.PadW >= 0,
		"%+v, want positive kernels and strides and no negative padding", s)
	a.check(s.PadH < s.KernelH && s.PadW < s.KernelW, "padding %d, %d, want less than the kernel %d, %d: no window may lie in the padding", s.PadH, s.PadW, s.KernelH, s.KernelW)
	if a.err != nil {
		return kernels.Window{}
	}
	ho, wo := s.OutSize(x.shape[2], x.shape[3])
	a.check(ho > 0 && wo > 0, "a %dx%d window does not fit into %v with padding %d, %d", s.KernelH, s.KernelW, x, s.PadH, s.PadW)
	a.check(fits(y.shape, []int{x.shape[0], x.shape[1], ho, wo}), "%v, want [%d %d %d %d]", y, x.shape[0], x.shape[1], ho, wo)
	return kernels.Window{
		N: x.shape[0], C: x.shape[1], H: x.shape[2], W: x.shape[3], HO: ho, WO: wo,
		KH: s.KernelH, KW: s.KernelW, SH: s.StrideH, SW: s.StrideW, PH: s.PadH, PW: s.PadW,
	}
}

// MaxPool takes the maximum of each window.
func (e *Engine) MaxPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	a := e.args("max pool")
	in, out := a.images("x", x), a.images("y", y)
	w := a.window(in, out, spec)
	if a.apart(out, in); a.err != nil {
		return a.err
	}
	t := common(in, out)
	p := a.in(in, t)
	a.launch(kernels.MaxPool(t, w, a.out(out, t), p))
	return a.done()
}

// MaxPoolGrad gives dy to the first maximum of each window, which it looks for again.
func (e *Engine) MaxPoolGrad(dx, dy, x, y engine.Tensor, spec engine.PoolSpec) error {
	a := e.args("max pool gradient")
	to, up, in, out := a.images("dx", dx), a.images("dy", dy), a.images("x", x), a.images("y", y)
	a.same(to, in)
	a.same(up, out)
	w := a.window(in, up, spec)
	a.check(w.KH*w.KW <= kernels.MaxPlace+1, "a window of %dx%d positions, the GPU engine takes %d in all at most", w.KH, w.KW, kernels.MaxPlace+1)
	if a.apart(to, up, in, out); a.err != nil {
		return a.err
	}
	t := common(to, up, in)
	g, p, places := a.in(up, t), a.in(in, t), a.scratch(kernels.PlaceSize*int64(up.size))
	a.launch(kernels.MaxPlaces(t, w, places, p), kernels.MaxPoolGrad(t, w, a.out(to, t), g, places))
	return a.done()
}

// AvgPool averages each window.
func (e *Engine) AvgPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	a := e.args("average pool")
	in, out := a.images("x", x), a.images("y", y)
	w := a.window(in, out, spec)
	if a.apart(out, in); a.err != nil {
		return a.err
	}
	t := common(in, out)
	p := a.in(in, t)
	a.launch(kernels.AvgPool(t, w, spec.CountPad, a.out(out, t), p))
	return a.done()
}

// AvgPoolGrad is the gradient of AvgPool.
func (e *Engine) AvgPoolGrad(dx, dy engine.Tensor, spec engine.PoolSpec) error {
	a := e.args("average pool gradient")
	to, up := a.images("dx", dx), a.images("dy", dy)
	w := a.window(to, up, spec)
	if a.apart(to, up); a.err != nil {
		return a.err
	}
	t := common(to, up)
	p := a.in(up, t)
	a.launch(kernels.AvgPoolGrad(t, w, spec.CountPad, a.out(to, t), p))
	return a.done()
}

// global checks a map x and one value y a channel of it.
func (a *args) global(x, y named) (n, hw, c int) {
	if a.err != nil {
		return 0, 0, 0
	}
	n, c, hw = x.shape[0], x.shape[1], x.shape[2]*x.shape[3]
	a.check(fits(y.shape, []int{n, c}), "%v, want [%d %d]", y, n, c)
	return n, hw, c
}

// GlobalAvg sets y to the mean over H and W.
func (e *Engine) GlobalAvg(y, x engine.Tensor) error {
	a := e.args("global average")
	in, out := a.images("x", x), a.of("y", y, -1, -1)
	n, hw, c := a.global(in, out)
	if a.err != nil {
		return a.err
	}
	a.launch(kernels.GlobalAvg(in.typ, n, hw, c, a.out(out, device.F32), in.ptr))
	return a.done()
}

// GlobalAvgGrad is the gradient of GlobalAvg.
func (e *Engine) GlobalAvgGrad(dx, dy engine.Tensor) error {
	a := e.args("global average gradient")
	to, up := a.images("dx", dx), a.of("dy", dy, -1, -1)
	n, hw, c := a.global(to, up)
	if a.err != nil {
		return a.err
	}
	a.launch(kernels.GlobalAvgGrad(to.typ, n, hw, c, a.out(to, to.typ), a.in(up, device.F32)))
	return a.done()
}

// GlobalMax sets y to the maximum over H and W.
func (e *Engine) GlobalMax(y, x engine.Tensor) error {
	a := e.args("global maximum")
	in, out := a.images("x", x), a.of("y", y, -1, -1)
	n, hw, c := a.global(in, out)
	if a.err != nil {
		return a.err
	}
	a.launch(kernels.GlobalMax(in.typ, n, hw, c, a.out(out, device.F32), 0, in.ptr))
	return a.done()
}

// GlobalMaxGrad gives dy to the first maximum, which it looks for again.
func (e *Engine) GlobalMaxGrad(dx, dy, x, y engine.Tensor) error {
	a := e.args("global maximum gradient")
	to, up, in := a.images("dx", dx), a.of("dy", dy, -1, -1), a.images("x", x)
	a.same(to, in)
	a.same(up, a.of("y", y, -1, -1))
	n, hw, c := a.global(in, up)
	if a.apart(to, in); a.err != nil {
		return a.err
	}
	place := a.scratch(4 * int64(n*c))
	g := a.in(up, device.F32)
	a.launch(kernels.GlobalMax(in.typ, n, hw, c, 0, place, in.ptr), kernels.GlobalMaxGrad(to.typ, n, hw, c, a.out(to, to.typ), g, place))
	return a.done()
}
