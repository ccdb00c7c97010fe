package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// channelled unwraps (N, C) or (N, C, H, W): in memory both are rows of c.
func (a *args) channelled(name string, t engine.Tensor) (x named, rows int64, c int) {
	x = a.any(name, t)
	a.check(a.err != nil || len(x.shape) == 2 || len(x.shape) == 4, "%v, want (N, C) or (N, C, H, W)", x)
	if a.err != nil {
		return x, 0, 0
	}
	c = x.shape[1]
	return x, int64(x.size / c), c
}

// BatchNorm normalizes with the statistics of the batch. The variance is that of
// differences from the mean, in a second pass: the mean of squares would lose it.
func (e *Engine) BatchNorm(y, mean, invStd, runningMean, runningVar, x, gamma, beta engine.Tensor, eps, momentum float32) error {
	a := e.args("batch norm")
	in, rows, c := a.channelled("x", x)
	out := a.any("y", y)
	a.same(out, in)
	m, s := a.of("mean", mean, c), a.of("invStd", invStd, c)
	rm, rv := a.of("runningMean", runningMean, c), a.of("runningVar", runningVar, c)
	g, b := a.of("gamma", gamma, c), a.of("beta", beta, c)
	a.check(a.err != nil || rows > 1, "%v has one value a channel, which has no variance", in)
	if a.err != nil {
		return a.err
	}
	t := common(in, out)
	p := a.in(in, t)
	parts, _ := kernels.Parts(rows, c)
	part, variance := a.floats(parts*c), a.floats(c)
	pm, ps := a.out(m, device.F32), a.out(s, device.F32)
	each := 1 / float32(rows)
	a.launch(
		kernels.ChannelSums(t, rows, c, part, p), kernels.Combine(parts, c, pm, part, each),
		kernels.ChannelSquares(t, rows, c, part, p, pm), kernels.Combine(parts, c, variance, part, each),
		kernels.BatchStats(c, ps, a.out(rm, device.F32), a.out(rv, device.F32), pm, variance, eps, momentum, float32(float64(rows)/float64(rows-1))),
		kernels.ChannelNorm(t, int64(in.size), c, a.out(out, t), p, pm, ps, g.ptr, b.ptr))
	return a.done()
}

// normGrad holds the arguments of a gradient of a normalization.
type normGrad struct {
	dx, dgamma, dbeta, dy, x, gamma, mean, spread named
	rows                                          int64
	c                                             int
}

func (a *args) normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, spread engine.Tensor) (n normGrad) {
	n.x, n.rows, n.c = a.channelled("x", x)
	n.dy = a.any("dy", dy)
	if a.same(n.dy, n.x); a.err != nil {
		return n
	}
	n.dx = a.maybe("dx", dx, n.x.shape...)
	n.dgamma, n.dbeta = a.maybe("dgamma", dgamma, n.c), a.maybe("dbeta", dbeta, n.c)
	n.gamma, n.mean, n.spread = a.of("gamma", gamma, n.c), a.of("mean", mean, n.c), a.of("statistic", spread, n.c)
	return n
}

// sums computes dbeta and dgamma, or leaves them in scratch memory where only
// they are needed for dx.
func (a *args) normSums(n normGrad, t device.Type, dy, x, inv device.Ptr, always bool) (dbeta, dgamma device.Ptr) {
	target := func(d named) device.Ptr {
		switch {
		case d.there():
			return a.out(d, device.F32)
		case always:
			return a.floats(n.c)
		}
		return 0
	}
	dbeta, dgamma = target(n.dbeta), target(n.dgamma)
	parts, _ := kernels.Parts(n.rows, n.c)
	var betas, gammas rowSums
	if dbeta != 0 {
		betas = a.sumsAt(dbeta, parts, n.c)
	}
	switch {
	case dgamma != 0:
		gammas = a.sumsAt(dgamma, parts, n.c)
		a.launch(kernels.ChannelProducts(t, n.rows, n.c, gammas.part, betas.part, dy, x, n.mean.ptr, inv))
	case dbeta != 0:
		a.launch(kernels.ChannelSums(t, n.rows, n.c, betas.part, dy))
	}
	a.launch(append(betas.end, gammas.end...)...)
	return dbeta, dgamma
}

// BatchNormGrad is the gradient of BatchNorm.
func (e *Engine) BatchNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	a := e.args("batch norm gradient")
	n := a.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd)
	a.check(a.err != nil || n.rows > 1, "%v has one value a channel, which has no variance", n.x)
	if a.err != nil {
		return a.err
	}
	t := common(n.x, n.dy, n.dx)
	p, g := a.in(n.x, t), a.in(n.dy, t)
	sumDy, sumDyU := a.normSums(n, t, g, p, n.spread.ptr, n.dx.there())
	if n.dx.there() {
		a.launch(kernels.BatchNormDX(t, int64(n.x.size), n.c, a.out(n.dx, t), g, p, n.gamma.ptr, n.mean.ptr, n.spread.ptr, sumDy, sumDyU, 1/float32(n.rows)))
	}
	return a.done()
}

// FrozenNorm normalizes with given statistics.
func (e *Engine) FrozenNorm(y, x, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	a := e.args("frozen norm")
	in, _, c := a.channelled("x", x)
	out := a.any("y", y)
	a.same(out, in)
	g, b := a.of("gamma", gamma, c), a.of("beta", beta, c)
	m, v := a.of("mean", mean, c), a.of("variance", variance, c)
	if a.err != nil {
		return a.err
	}
	t := common(in, out)
	p, inv := a.in(in, t), a.floats(c)
	a.launch(kernels.InvStd(c, inv, v.ptr, eps), kernels.ChannelNorm(t, int64(in.size), c, a.out(out, t), p, m.ptr, inv, g.ptr, b.ptr))
	return a.done()
}

// FrozenNormGrad is the gradient of FrozenNorm.
func (e *Engine) FrozenNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance engine.Tensor, eps float32) error {
	a := e.args("frozen norm gradient")
	n := a.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance)
	if a.err != nil {
		return a.err
	}
	t := common(n.x, n.dy, n.dx)
	p, g, inv := a.in(n.x, t), a.in(n.dy, t), a.floats(n.c)
	a.launch(kernels.InvStd(n.c, inv, n.spread.ptr, eps))
	a.normSums(n, t, g, p, inv, false)
	if n.dx.there() {
		scale := a.floats(n.c)
		a.launch(kernels.ChannelAffine(device.F32, int64(n.c), n.c, scale, inv, n.gamma.ptr, 0, 0, 0),
			kernels.ChannelAffine(t, int64(n.x.size), n.c, a.out(n.dx, t), g, scale, 0, 0, 0))
	}
	return a.done()
}

// FoldNorm turns a frozen normalization into scale and shift.
func (e *Engine) FoldNorm(scale, shift, bias, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	a := e.args("fold norm")
	out := a.of("scale", scale, -1)
	c := out.size
	sh, bi := a.of("shift", shift, c), a.maybe("bias", bias, c)
	g, b := a.of("gamma", gamma, c), a.of("beta", beta, c)
	m, v := a.of("mean", mean, c), a.of("variance", variance, c)
	if a.err != nil {
		return a.err
	}
	if e.bundle != nil {
		a.task(kernels.FoldNormTask(c, out.ptr, sh.ptr, a.in(bi, device.F32), g.ptr, b.ptr, m.ptr, v.ptr, eps), out, sh)
		return a.err
	}
	a.launch(kernels.FoldNorm(c, a.out(out, device.F32), a.out(sh, device.F32), a.in(bi, device.F32), g.ptr, b.ptr, m.ptr, v.ptr, eps))
	return a.done()
}

// FoldNormGrad is the gradient of FoldNorm.
func (e *Engine) FoldNormGrad(dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance engine.Tensor, eps float32) error {
	a := e.args("fold norm gradient")
	up := a.of("dshift", dshift, -1)
	c := up.size
	toBias, toGamma, toBeta := a.maybe("dbias", dbias, c), a.maybe("dgamma", dgamma, c), a.maybe("dbeta", dbeta, c)
	upScale, bi := a.maybe("dscale", dscale, c), a.maybe("bias", bias, c)
	g, m, v := a.of("gamma", gamma, c), a.of("mean", mean, c), a.of("variance", variance, c)
	a.check(!toGamma.there() || upScale.there(), "the gradient of gamma needs dscale")
	if a.err != nil {
		return a.err
	}
	ds, du, b := a.in(upScale, device.F32), a.in(up, device.F32), a.in(bi, device.F32)
	db, dg, dt := a.out(toBias, device.F32), a.out(toGamma, device.F32), a.out(toBeta, device.F32)
	if e.bundle != nil {
		a.task(kernels.FoldNormGradTask(c, db, dg, dt, ds, du, b, g.ptr, m.ptr, v.ptr, eps), toBias, toGamma, toBeta)
		return a.err
	}
	a.launch(kernels.FoldNormGrad(c, db, dg, dt, ds, du, b, g.ptr, m.ptr, v.ptr, eps))
	return a.done()
}
