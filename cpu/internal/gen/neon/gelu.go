package main

import "github.com/vernier-ml/vernier/internal/approx"

// gelu writes the Gaussian error linear unit and its gradient, and both of the form with a
// logistic function.
func (w *writer) gelu() {
	w.elementwise("gelu", "y, x []float32", func(k *kernel) func(x []vec) vec {
		g := k.normal()
		return func(x []vec) vec {
			share, _ := g.share(x[0])
			k.op("fmul", share, share, x[0])
			return share
		}
	}, "y", "x")
	w.elementwise("geluGrad", "dx, dy, x []float32", func(k *kernel) func(x []vec) vec {
		g := k.normal()
		return func(x []vec) vec {
			share, e := g.share(x[1])
			k.by("fmul", e, e, k.constant(0.3989422804014327)) // 1/sqrt(2 pi)
			k.op("fmla", share, x[1], e)
			k.op("fmul", share, share, x[0])
			return share
		}
	}, "dx", "dy", "x")
	w.elementwise("geluQuick", "y, x []float32", func(k *kernel) func(x []vec) vec {
		e, zero := k.exponents(), k.zero()
		return func(x []vec) vec {
			share, _ := k.logistic(e, zero, x[0])
			k.op("fmul", share, share, x[0])
			return share
		}
	}, "y", "x")
	w.elementwise("geluQuickGrad", "dx, dy, x []float32", func(k *kernel) func(x []vec) vec {
		e, zero := k.exponents(), k.zero()
		return func(x []vec) vec {
			share, slope := k.logistic(e, zero, x[1])
			k.op("fmla", share, x[1], slope)
			k.op("fmul", share, share, x[0])
			return share
		}
	}, "dx", "dy", "x")
}

// quick is the slope at which GELUQuick's logistic function begins.
const quick = 1.702

// logistic returns 1/(1 + e^-quick x) and its slope.
func (k *kernel) logistic(e exponents, zero, x vec) (share, slope vec) {
	t := k.vec()
	k.unary("fabs", t, x)
	k.op("fmin", t, t, e.far)
	k.by("fmul", t, t, k.constant(quick))
	rest := k.fall(e, t)
	k.op("fadd", t, rest, e.one)
	share, slope = k.reciprocal(t), k.vec()
	k.op("fmul", rest, rest, share)
	k.op("fmul", slope, rest, share)
	k.by("fmul", slope, slope, k.constant(quick))
	k.above(rest, share, x, zero)
	return rest, slope
}

// above replaces what lies in d by n where x > 0.
func (k *kernel) above(d, n, x, zero vec) {
	k.scope(func() {
		mask := k.vec()
		k.op("fcmgt", mask, x, zero)
		k.logic("bit", d, n, mask)
	})
}

// normal is the normal distribution.
type normal struct {
	k         *kernel
	e         exponents
	far, zero vec
}

func (k *kernel) normal() normal {
	return normal{k, k.exponents(), k.spread(k.constant(approx.FarNormal)), k.zero()}
}

// share returns Phi(x) and e^(-x^2/2), with the tail e^(-x^2/2) t P(t) of
// approx.NormalTail below 0 and 1 minus it above.
func (g normal) share(x vec) (share, e vec) {
	k := g.k
	p, c := approx.NormalTail()
	z, den := k.vec(), k.vec()
	k.unary("fabs", z, x)
	k.op("fmin", z, z, g.far)
	k.copy(den, g.e.one)
	k.by("fmla", den, z, k.constant(float64(p)))
	t := k.reciprocal(den)
	k.by("fmul", den, z, k.constant(0.5))
	k.op("fmul", den, den, z)
	e = k.fall(g.e, den)
	share = k.polynomial(t, c[:])
	k.op("fmul", share, share, t)
	k.op("fmul", share, share, e)
	k.op("fsub", t, g.e.one, share)
	k.above(share, t, x, g.zero)
	return share, e
}
