package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// BatchNormGrad is the gradient of BatchNorm: with xhat = (x-mean)*invStd,
// dx = gamma*invStd*(dy - mean(dy) - xhat*mean(dy*xhat)).
func (e *Engine) BatchNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	g := args{op: "batch norm gradient"}
	n := g.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean)
	inv := g.get("invStd", invStd, 1)
	g.want(inv, n.x, n.c.count)
	if g.err != nil {
		return g.err
	}
	count := float64(n.c.images * n.c.area)
	e.each(n.c, func(ch int) {
		is := float64(inv.v[ch])
		total, along := n.sums(e.kernels, ch, is)
		a := float64(n.gamma.v[ch]) * is
		n.input(e.kernels, ch, a, -a*is*along/count, -a*total/count)
	})
	return nil
}

// FrozenNorm normalizes with given statistics.
func (e *Engine) FrozenNorm(y, x, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	g := args{op: "frozen norm"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	c := g.channels(s)
	g.same(d, s)
	g.apart(d, s)
	ga, be, me, va := g.get("gamma", gamma, 1), g.get("beta", beta, 1), g.get("mean", mean, 1), g.get("variance", variance, 1)
	for _, p := range []view{ga, be, me, va} {
		g.want(p, s, c.count)
	}
	if g.err != nil {
		return g.err
	}
	e.each(c, func(ch int) {
		scale := float32(float64(ga.v[ch]) / math.Sqrt(float64(va.v[ch])+float64(eps)))
		for i := range c.images {
			e.kernels.affine(c.plane(d.v, i, ch), c.plane(s.v, i, ch), nil, me.v[ch], scale, be.v[ch], 0)
		}
	})
	return nil
}

// FrozenNormGrad is the gradient of FrozenNorm; the statistics are constants.
func (e *Engine) FrozenNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance engine.Tensor, eps float32) error {
	g := args{op: "frozen norm gradient"}
	n := g.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean)
	va := g.get("variance", variance, 1)
	g.want(va, n.x, n.c.count)
	if g.err != nil {
		return g.err
	}
	e.each(n.c, func(ch int) {
		is := 1 / math.Sqrt(float64(va.v[ch])+float64(eps))
		if n.dgamma.v != nil || n.dbeta.v != nil {
			n.sums(e.kernels, ch, is)
		}
		n.input(e.kernels, ch, float64(n.gamma.v[ch])*is, 0, 0)
	})
	return nil
}

// normGradArgs is what the gradients of both normalizations have in common.
type normGradArgs struct {
	c                                     channels
	dx, dgamma, dbeta, dy, x, gamma, mean view
}

func (g *args) normGrad(dx, dgamma, dbeta, dy, x, gamma, mean engine.Tensor) normGradArgs {
	n := normGradArgs{
		dx: g.maybe("dx", dx, -1), dgamma: g.maybe("dgamma", dgamma, 1), dbeta: g.maybe("dbeta", dbeta, 1),
		dy: g.get("dy", dy, -1), x: g.get("x", x, -1), gamma: g.get("gamma", gamma, 1), mean: g.get("mean", mean, 1),
	}
	n.c = g.channels(n.x)
	g.same(n.dy, n.x)
	g.same(n.dx, n.x)
	for _, p := range []view{n.dgamma, n.dbeta, n.gamma, n.mean} {
		g.want(p, n.x, n.c.count)
	}
	g.apart(n.dx, n.dy, n.x)
	return n
}

// sums returns the sums of dy and of dy*xhat over a channel, which are the
// gradients of beta and gamma, and stores them.
func (n *normGradArgs) sums(kr *kernels, ch int, invStd float64) (total, along float64) {
	for i := range n.c.images {
		dy := n.c.plane(n.dy.v, i, ch)
		total += kr.sum(dy)
		along += kr.project(dy, n.c.plane(n.x.v, i, ch), n.mean.v[ch])
	}
	along *= invStd
	if n.dgamma.v != nil {
		n.dgamma.v[ch] = float32(along)
	}
	if n.dbeta.v != nil {
		n.dbeta.v[ch] = float32(total)
	}
	return total, along
}

// input sets dx = a*dy + b*(x-mean) + c, if dx is wanted.
func (n *normGradArgs) input(kr *kernels, ch int, a, b, c float64) {
	if n.dx.v == nil {
		return
	}
	for i := range n.c.images {
		dx, dy := n.c.plane(n.dx.v, i, ch), n.c.plane(n.dy.v, i, ch)
		if b == 0 && c == 0 {
			kr.scale(dx, dy, float32(a))
			continue
		}
		kr.normGrad(dx, dy, n.c.plane(n.x.v, i, ch), float32(a), float32(b), n.mean.v[ch], float32(c))
	}
}
