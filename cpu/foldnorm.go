package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// FoldNorm turns a frozen normalization into scale and shift.
func (e *Engine) FoldNorm(scale, shift, bias, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	g := args{op: "fold norm"}
	sc, sh, bi := g.get("scale", scale, 1), g.get("shift", shift, 1), g.maybe("bias", bias, 1)
	ga, be, me, va := g.get("gamma", gamma, 1), g.get("beta", beta, 1), g.get("mean", mean, 1), g.get("variance", variance, 1)
	for _, v := range []view{sh, bi, ga, be, me, va} {
		g.want(v, sc, len(sc.v))
	}
	if g.err != nil {
		return g.err
	}
	for c := range sc.v {
		s := float64(ga.v[c]) / math.Sqrt(float64(va.v[c])+float64(eps))
		sc.v[c] = float32(s)
		sh.v[c] = float32(float64(be.v[c]) + offMean(bi.v, me.v, c)*s)
	}
	return nil
}

// FoldNormGrad is the gradient of FoldNorm.
func (e *Engine) FoldNormGrad(dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance engine.Tensor, eps float32) error {
	g := args{op: "fold norm gradient"}
	db, dg, dbe := g.maybe("dbias", dbias, 1), g.maybe("dgamma", dgamma, 1), g.maybe("dbeta", dbeta, 1)
	dsc, dsh, bi := g.maybe("dscale", dscale, 1), g.get("dshift", dshift, 1), g.maybe("bias", bias, 1)
	ga, me, va := g.get("gamma", gamma, 1), g.get("mean", mean, 1), g.get("variance", variance, 1)
	for _, v := range []view{db, dg, dbe, dsc, bi, ga, me, va} {
		g.want(v, dsh, len(dsh.v))
	}
	if g.err == nil && dg.v != nil && dsc.v == nil {
		g.fail("the gradient of gamma needs dscale")
	}
	if g.err != nil {
		return g.err
	}
	for c, shifted := range dsh.v {
		is := 1 / math.Sqrt(float64(va.v[c])+float64(eps))
		if db.v != nil {
			db.v[c] = float32(float64(shifted) * float64(ga.v[c]) * is)
		}
		if dg.v != nil {
			dg.v[c] = float32((float64(dsc.v[c]) + offMean(bi.v, me.v, c)*float64(shifted)) * is)
		}
		if dbe.v != nil {
			dbe.v[c] = shifted
		}
	}
	return nil
}

// offMean is bias - mean of a channel; a nil bias is 0.
func offMean(bias, mean []float32, c int) float64 {
	if bias == nil {
		return -float64(mean[c])
	}
	return float64(bias[c]) - float64(mean[c])
}
