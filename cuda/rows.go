package cuda

import (
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// Softmax sets every row of y to exp(x) / sum exp(x).
func (e *Engine) Softmax(y, x engine.Tensor) error { return e.softmax("softmax", y, x, false) }

// LogSoftmax sets every row of y to x - log sum exp(x).
func (e *Engine) LogSoftmax(y, x engine.Tensor) error { return e.softmax("log softmax", y, x, true) }

func (e *Engine) softmax(op string, y, x engine.Tensor, logarithmic bool) error {
	a := e.args(op)
	in, rows, d := a.lines("x", x, 1)
	out := a.any("y", y)
	if a.same(out, in); a.err != nil {
		return a.err
	}
	p := a.inLines(in, device.F32)
	a.launch(kernels.Softmax(rows, d, a.outLines(out, device.F32), p, logarithmic))
	return a.done()
}

// SoftmaxGrad is the gradient of Softmax.
func (e *Engine) SoftmaxGrad(dx, dy, y engine.Tensor) error {
	return e.softmaxGrad("softmax gradient", dx, dy, y, false)
}

// LogSoftmaxGrad is the gradient of LogSoftmax.
func (e *Engine) LogSoftmaxGrad(dx, dy, y engine.Tensor) error {
	return e.softmaxGrad("log softmax gradient", dx, dy, y, true)
}

func (e *Engine) softmaxGrad(op string, dx, dy, y engine.Tensor, logarithmic bool) error {
	a := e.args(op)
	out, rows, d := a.lines("y", y, 1)
	up, to := a.any("dy", dy), a.any("dx", dx)
	a.same(up, out)
	if a.same(to, out); a.err != nil {
		return a.err
	}
	p, q := a.inLines(up, device.F32), a.inLines(out, device.F32)
	a.launch(kernels.SoftmaxGrad(rows, d, a.outLines(to, device.F32), p, q, logarithmic))
	return a.done()
}

// LayerNorm normalizes every row by its own statistics.
func (e *Engine) LayerNorm(y, mean, invStd, x, gamma, beta engine.Tensor, eps float32) error {
	a := e.args("layer norm")
	in, rows, d := a.lines("x", x, 2)
	if a.err != nil {
		return a.err
	}
	leading := in.shape[:len(in.shape)-1]
	out, m, s := a.of("y", y, in.shape...), a.of("mean", mean, leading...), a.of("invStd", invStd, leading...)
	g, b := a.of("gamma", gamma, d), a.of("beta", beta, d)
	if a.err != nil {
		return a.err
	}
	t := lineType(in, out)
	p := a.inLines(in, t)
	a.launch(kernels.LayerNorm(t, rows, d, a.outLines(out, t), a.out(m, device.F32), a.out(s, device.F32), p, g.ptr, b.ptr, eps))
	return a.done()
}

// LayerNormGrad is the gradient of LayerNorm.
func (e *Engine) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	return e.args("layer norm gradient").layerNormGrad(dx, nil, nil, dgamma, dbeta, dy, x, gamma, mean, invStd)
}

// AddLayerNormGrad adds its dx to sum.
func (e *Engine) AddLayerNormGrad(dx, sum, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	a := e.args("layer norm gradient, added")
	a.any("dx", dx)
	a.any("sum", sum)
	return a.layerNormGrad(dx, nil, sum, dgamma, dbeta, dy, x, gamma, mean, invStd)
}

// LayerNormGradSums also sums dx.
func (e *Engine) LayerNormGradSums(dx, sums, sum, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	a := e.args("layer norm gradient, summed")
	a.any("dx", dx)
	a.any("sums", sums)
	return a.layerNormGrad(dx, sums, sum, dgamma, dbeta, dy, x, gamma, mean, invStd)
}

func (a *args) layerNormGrad(dx, sums, sum, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	in, rows, d := a.lines("x", x, 2)
	if a.err != nil {
		return a.err
	}
	leading := in.shape[:len(in.shape)-1]
	up, to := a.of("dy", dy, in.shape...), a.maybe("dx", dx, in.shape...)
	before := a.maybe("sum", sum, in.shape...)
	m, s := a.of("mean", mean, leading...), a.of("invStd", invStd, leading...)
	g, dg, db := a.of("gamma", gamma, d), a.maybe("dgamma", dgamma, d), a.maybe("dbeta", dbeta, d)
	total := a.maybe("sums", sums, d)
	if a.apart(to, in, up); a.err != nil || !to.there() && !dg.there() && !db.there() {
		return a.err
	}
	t := lineType(in, up, to)
	p, q := a.inLines(in, t), a.inLines(up, t)
	pm, ps := a.in(m, device.F32), a.in(s, device.F32)
	parts, _ := kernels.NormParts(rows)
	gammas, betas, totals := a.sumsTo(dg, parts, d), a.sumsTo(db, parts, d), a.sumsTo(total, parts, d)
	grads := kernels.NormGrads{DGamma: gammas.part, DBeta: betas.part, Sums: totals.part}
	more := a.inLines(before, t)
	grads.DX = a.outLines(to, t)
	a.launch(kernels.LayerNormGrad(t, rows, d, grads, more, q, p, g.ptr, pm, ps))
	a.launch(slices.Concat(gammas.end, betas.end, totals.end)...)
	return a.done()
}

// RowNorm brings every row to length spec.Scale.
func (e *Engine) RowNorm(y, x engine.Tensor, spec engine.RowNormSpec) error {
	a := e.args("row norm")
	in, out := a.of("x", x, -1, -1), a.any("y", y)
	a.same(out, in)
	a.check(spec.Eps >= 0, "eps is %v, want 0 or more", spec.Eps)
	if a.err != nil {
		return a.err
	}
	p := a.in(in, device.F32)
	a.launch(kernels.RowNorm(in.shape[0], in.shape[1], a.out(out, device.F32), p, spec.Scale, spec.Eps, spec.Smooth))
	return a.done()
}

// RowNormGrad is the gradient of RowNorm.
func (e *Engine) RowNormGrad(dx, dy, x engine.Tensor, spec engine.RowNormSpec) error {
	a := e.args("row norm gradient")
	in, up, out := a.of("x", x, -1, -1), a.any("dy", dy), a.any("dx", dx)
	a.same(up, in)
	a.same(out, in)
	a.check(spec.Eps >= 0, "eps is %v, want 0 or more", spec.Eps)
	if a.err != nil {
		return a.err
	}
	p, q := a.in(up, device.F32), a.in(in, device.F32)
	a.launch(kernels.RowNormGrad(in.shape[0], in.shape[1], a.out(out, device.F32), p, q, spec.Scale, spec.Eps, spec.Smooth))
	return a.done()
}

// lineType is the type in which an operation along the last axis computes. Images
// do not have that axis last in memory; they are turned, which is for float32.
func lineType(list ...named) device.Type {
	if t := common(list...); t == device.F32 || !list[0].planar() {
		return device.F32
	}
	return device.BF16
}

// inLines returns numbers in the order of the logical shape.
func (a *args) inLines(x named, t device.Type) device.Ptr {
	if !x.there() || x.planar() {
		return a.in(x, t)
	}
	return a.hostOrder(x)
}

// outLines is out for numbers in the order of the logical shape.
func (a *args) outLines(x named, t device.Type) device.Ptr {
	if !x.there() || x.planar() || a.err != nil {
		return a.out(x, t)
	}
	x.touched()
	n, c, hw := x.channels()
	p := a.floats(x.size)
	a.after = append(a.after, kernels.FromPlanar(x.typ, n, c, hw, x.ptr, p))
	return p
}
