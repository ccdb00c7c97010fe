package cuda

import (
	"errors"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// conv checks the arguments that the three directions share.
func (a *args) conv(x, w, y named, s engine.ConvSpec) device.Conv {
	a.check(s.KernelH > 0 && s.KernelW > 0 && s.StrideH > 0 && s.StrideW > 0 && s.PadH >= 0 && s.PadW >= 0 && s.EndH >= 0 && s.EndW >= 0,
		"%+v, want positive kernels and strides and no negative padding", s)
	if a.err != nil {
		return device.Conv{}
	}
	ho, wo := s.OutSize(x.shape[2], x.shape[3])
	a.check(ho > 0 && wo > 0, "a %dx%d kernel does not fit into %v with padding %d, %d", s.KernelH, s.KernelW, x, s.PadH, s.PadW)
	k := y.shape[1]
	if w.there() {
		k = w.shape[0]
		if s.Depthwise {
			a.check(w.shape[1] == 1, "%v, want one kernel for each channel of %v", w, x)
		} else {
			a.check(w.shape[1] == x.shape[1], "%v and %v differ in channels", x, w)
		}
		a.check(w.shape[2] == s.KernelH && w.shape[3] == s.KernelW, "%v is not a %dx%d kernel", w, s.KernelH, s.KernelW)
	}
	a.check(!s.Depthwise || k == x.shape[1], "%d kernels for %v, a depthwise convolution has one for each channel", k, x)
	a.check(fits(y.shape, []int{x.shape[0], k, ho, wo}), "%v, want [%d %d %d %d]", y, x.shape[0], k, ho, wo)
	return device.Conv{
		N: x.shape[0], C: x.shape[1], H: x.shape[2] + s.EndH, W: x.shape[3] + s.EndW, K: k, R: s.KernelH, S: s.KernelW, Ho: ho, Wo: wo,
		PadH: s.PadH, PadW: s.PadW, StrideH: s.StrideH, StrideW: s.StrideW, Depthwise: s.Depthwise,
		Precision: a.eng.precision(), Deterministic: a.eng.opt.Deterministic,
	}
}

// convolve runs one direction by the algorithm that is looked for when a shape
// comes for the first time. Where cuDNN has none, a kernel of our own
// does it.
func (a *args) convolve(dir device.Direction, c device.Conv, o device.Operands) {
	if a.single(); a.err != nil {
		return
	}
	e := a.eng
	p, err := e.plan(planKey{dir, c}, o)
	if a.failed(err); err != nil {
		return
	}
	if p.fallBack != nil {
		a.direct(dir, c, o)
		return
	}
	a.failed(e.dnn.Run(dir, p.Plan, o, e.work.ptr))
}

// accumulate is convolve for the gradient of the input, size numbers, that is added to
// what o.X holds: by cuDNN if it does that for the shape, else by an addition.
func (a *args) accumulate(c device.Conv, o device.Operands, size int) {
	if a.single(); a.err != nil {
		return
	}
	e, key, apart := a.eng, planKey{device.GradInput, c}, o
	apart.X = a.scratch(int64(size * c.Type.Size()))
	p, err := e.plan(key, apart) // to look for an algorithm spoils what is there
	if a.failed(err); a.err != nil {
		return
	}
	if p.fallBack == nil && !p.overwrites {
		o.Accumulate = true
		err := e.dnn.Run(key.dir, p.Plan, o, e.work.ptr)
		if !errors.Is(err, device.ErrNoAlgorithm) {
			a.failed(err)
			return
		}
		if a.failed(e.attend()); a.err != nil { // another time it is not tried
			return
		}
		p.overwrites = true
		e.plans[key] = p
	}
	a.convolve(key.dir, c, apart)
	a.launch(kernels.Add(c.Type, int64(size), o.X, o.X, apart.X))
}

// direct convolves by a kernel of our own.
func (a *args) direct(dir device.Direction, c device.Conv, o device.Operands) {
	g := kernels.Conv{N: c.N, C: c.C, H: c.H, W: c.W, K: c.K, R: c.R, S: c.S, HO: c.Ho, WO: c.Wo, PH: c.PadH, PW: c.PadW, SH: c.StrideH, SW: c.StrideW}
	switch {
	case c.Depthwise && dir == device.Forward:
		a.launch(kernels.Depthwise(c.Type, g, o.Y, o.X, o.W))
	case c.Depthwise && dir == device.GradInput:
		a.launch(kernels.DepthwiseDX(c.Type, g, o.X, o.Y, o.W))
	case c.Depthwise:
		a.launch(kernels.DepthwiseDW(c.Type, g, o.W, o.Y, o.X))
	case dir == device.Forward:
		a.launch(kernels.ConvDirect(c.Type, g, o.Y, o.X, o.W))
	case dir == device.GradInput:
		a.launch(kernels.ConvDirectDX(c.Type, g, o.X, o.Y, o.W))
	default:
		a.launch(kernels.ConvDirectDW(c.Type, g, o.W, o.Y, o.X))
	}
}

// ended returns maps x with the padding at the end alone, which cuDNN has none of, in
// scratch; c is of the maps with it. Without such padding it is x.
func (a *args) ended(x device.Ptr, c device.Conv, s engine.ConvSpec) device.Ptr {
	if s.EndW > 0 {
		x = a.widened(x, c.Type, int64(c.N)*int64(c.H-s.EndH), int64(c.W-s.EndW)*int64(c.C), int64(c.W)*int64(c.C))
	}
	if s.EndH > 0 {
		width := int64(c.W) * int64(c.C)
		x = a.widened(x, c.Type, int64(c.N), int64(c.H-s.EndH)*width, int64(c.H)*width)
	}
	return x
}

// widened copies rows from one length to another, with 0 behind them.
func (a *args) widened(x device.Ptr, t kernels.Type, rows, from, to int64) device.Ptr {
	bytes := aligned(rows * to * int64(t.Size()))
	wide := a.scratch(bytes)
	if a.err == nil {
		a.failed(a.eng.driver.Clear(wide, bytes, a.eng.compute))
	}
	a.launch(kernels.CopyRows(t, rows, from, wide, to, 0, x, from, 0))
	return wide
}

// withoutEnd is the inverse of ended: it copies maps to dst without the padding.
func (a *args) withoutEnd(dst, x device.Ptr, c device.Conv, s engine.ConvSpec) {
	width := int64(c.W) * int64(c.C)
	short := int64(c.W-s.EndW) * int64(c.C)
	height := int64(c.H - s.EndH)
	if s.EndH > 0 {
		to := dst
		if s.EndW > 0 {
			to = a.scratch(int64(c.N) * height * width * int64(c.Type.Size()))
		}
		a.launch(kernels.CopyRows(c.Type, int64(c.N), height*width, to, height*width, 0, x, int64(c.H)*width, 0))
		x = to
	}
	if s.EndW > 0 {
		a.launch(kernels.CopyRows(c.Type, int64(c.N)*height, short, dst, short, 0, x, width, 0))
	}
}

// Conv sets y = epilogue(x * w).
func (e *Engine) Conv(y, x, w engine.Tensor, spec engine.ConvSpec, ep engine.Epilogue) error {
	a := e.args("conv")
	in, weight, out := a.images("x", x), a.images("w", w), a.wholeOrPart("y", y)
	a.check(a.err != nil || len(out.shape) == 4, "%v, want four axes", out)
	c := a.conv(in, weight, out, spec)
	if a.err != nil {
		return a.err
	}
	scale, shift := a.maybe("scale", ep.Scale, c.K), a.maybe("shift", ep.Shift, c.K)
	residual := a.maybe("residual", ep.Residual, out.shape...)
	if a.apart(out, in, weight, scale, shift); a.err != nil {
		return a.err
	}
	t := common(in, out)
	c.Type = t
	o := device.Operands{X: a.ended(a.in(in, t), c, spec), W: a.in(weight, t)}
	if out.width > 0 {
		a.convPart(c, o, out, scale, shift, residual, ep.Bound())
		return a.done()
	}
	more, to := a.in(residual, t), a.out(out, t)
	o.Y = to
	if more != 0 && more == to { // the sum would overwrite it
		o.Y = a.scratch(int64(out.size * t.Size()))
	}
	a.convolve(device.Forward, c, o)
	if scale.there() || shift.there() || residual.there() || ep.ReLU {
		a.launch(kernels.ChannelAffine(t, int64(out.size), c.K, to, o.Y, a.in(scale, device.F32), a.in(shift, device.F32), more, ep.Bound()))
	}
	return a.done()
}

// convPart is Conv to a part of a map.
func (a *args) convPart(c device.Conv, o device.Operands, out, scale, shift, residual named, ceiling float32) {
	a.check(!residual.there(), "%v is a part of a map, to which no residual is added", out)
	a.check(out.typ == c.Type, "%v is stored as %v, want %v for a part of a map", out, out.typ, c.Type)
	if a.err != nil {
		return
	}
	t := c.Type
	o.Y = a.scratch(int64(out.size * t.Size()))
	a.convolve(device.Forward, c, o)
	out.touched()
	a.launch(kernels.JoinAffine(t, int64(out.size), c.K, out.ptr, out.width, o.Y, a.in(scale, device.F32), a.in(shift, device.F32), ceiling))
}

// ConvGradInput sets dx from dy.
func (e *Engine) ConvGradInput(dx, dy, w engine.Tensor, spec engine.ConvSpec) error {
	a := e.args("conv gradient of the input")
	to, weight, up := a.images("dx", dx), a.images("w", w), a.images("dy", dy)
	c := a.conv(to, weight, up, spec)
	if a.apart(to, weight, up); a.err != nil {
		return a.err
	}
	t := common(to, up)
	c.Type = t
	o := device.Operands{Y: a.in(up, t), W: a.in(weight, t)}
	x := a.out(to, t)
	if o.X = x; spec.EndH > 0 || spec.EndW > 0 {
		o.X = a.scratch(int64(c.N*c.H*c.W*c.C) * int64(t.Size()))
	}
	a.convolve(device.GradInput, c, o)
	a.withoutEnd(x, o.X, c, spec)
	return a.done()
}

var _ engine.Accumulator = (*Engine)(nil)

// AddConvGradInput sets dx to sum and the gradient from dy.
func (e *Engine) AddConvGradInput(dx, sum, dy, w engine.Tensor, spec engine.ConvSpec) error {
	a := e.args("conv gradient of the input, added")
	to, weight, up := a.images("dx", dx), a.images("w", w), a.images("dy", dy)
	before := a.any("sum", sum)
	a.same(before, to)
	c := a.conv(to, weight, up, spec)
	if a.apart(to, weight, up); a.err != nil {
		return a.err
	}
	t := common(to, up)
	c.Type = t
	o := device.Operands{Y: a.in(up, t), W: a.in(weight, t)}
	was := a.in(before, t)
	o.X = a.out(to, t)
	if was != o.X && a.err == nil {
		a.failed(e.driver.Copy(o.X, was, int64(to.size*t.Size()), e.compute))
	}
	if spec.EndH > 0 || spec.EndW > 0 { // cuDNN's is of the padded map
		full, part := a.scratch(int64(c.N*c.H*c.W*c.C)*int64(t.Size())), a.scratch(int64(to.size*t.Size()))
		a.convolve(device.GradInput, c, device.Operands{Y: o.Y, W: o.W, X: full})
		a.withoutEnd(part, full, c, spec)
		a.launch(kernels.Add(t, int64(to.size), o.X, o.X, part))
		return a.done()
	}
	a.accumulate(c, o, to.size)
	return a.done()
}

// ConvGradWeights sets dw and dbias.
func (e *Engine) ConvGradWeights(dw, dbias, dy, x engine.Tensor, spec engine.ConvSpec) error {
	a := e.args("conv gradient of the weights")
	in, up := a.images("x", x), a.images("dy", dy)
	if a.err != nil {
		return a.err
	}
	weight := a.maybe("dw", dw, -1, -1, -1, -1)
	bias := a.maybe("dbias", dbias, up.shape[1])
	c := a.conv(in, weight, up, spec)
	if a.apart(weight, in, up); a.err != nil {
		return a.err
	}
	t := common(in, up)
	c.Type = t
	g := a.in(up, t)
	if weight.there() {
		a.convolve(device.GradWeights, c, device.Operands{X: a.ended(a.in(in, t), c, spec), Y: g, W: a.out(weight, t)})
	}
	if bias.there() {
		a.columnSums(bias, t, g, int64(c.N)*int64(c.Ho)*int64(c.Wo), c.K)
	}
	return a.done()
}
