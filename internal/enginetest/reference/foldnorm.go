package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// FoldNorm turns a frozen normalization into scale and shift.
func (Engine) FoldNorm(scale, shift, bias, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	c := call{op: "fold norm"}
	out := c.of("scale", scale, -1)
	if c.err != nil {
		return c.err
	}
	k := len(out.v)
	sh, bi := c.of("shift", shift, k), c.maybe("bias", bias, k)
	g, b, m, v := c.of("gamma", gamma, k), c.of("beta", beta, k), c.of("mean", mean, k), c.of("variance", variance, k)
	if c.err != nil {
		return c.err
	}
	for i := range out.v {
		s := float64(g.v[i]) / math.Sqrt(float64(v.v[i])+float64(eps))
		out.v[i] = float32(s)
		sh.v[i] = float32(float64(b.v[i]) + (bi.or0(i)-float64(m.v[i]))*s)
	}
	return nil
}

// FoldNormGrad is the gradient of FoldNorm.
func (Engine) FoldNormGrad(dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance engine.Tensor, eps float32) error {
	c := call{op: "fold norm gradient"}
	up := c.of("dshift", dshift, -1)
	if c.err != nil {
		return c.err
	}
	k := len(up.v)
	toBias, toGamma, toBeta := c.maybe("dbias", dbias, k), c.maybe("dgamma", dgamma, k), c.maybe("dbeta", dbeta, k)
	upScale, bi := c.maybe("dscale", dscale, k), c.maybe("bias", bias, k)
	g, m, v := c.of("gamma", gamma, k), c.of("mean", mean, k), c.of("variance", variance, k)
	c.check(toGamma.v == nil || upScale.v != nil, "the gradient of gamma needs dscale")
	if c.err != nil {
		return c.err
	}
	for i := range up.v {
		spread := math.Sqrt(float64(v.v[i]) + float64(eps))
		if toBias.v != nil {
			toBias.v[i] = float32(float64(up.v[i]) * float64(g.v[i]) / spread)
		}
		if toGamma.v != nil {
			toGamma.v[i] = float32((float64(upScale.v[i]) + (bi.or0(i)-float64(m.v[i]))*float64(up.v[i])) / spread)
		}
		if toBeta.v != nil {
			toBeta.v[i] = up.v[i]
		}
	}
	return nil
}

// or0 is element i, or 0 of a nil array.
func (a array) or0(i int) float64 {
	if a.v == nil {
		return 0
	}
	return float64(a.v[i])
}
