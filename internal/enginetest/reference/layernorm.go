package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// lines unwraps an array of at least least axes as rows along the last one.
func (c *call) lines(name string, t engine.Tensor, least int) (a array, rows, width int) {
	a = c.any(name, t)
	c.check(c.err != nil || len(a.shape) >= least, "%v, want %d axes or more", a, least)
	if c.err != nil {
		return a, 0, 0
	}
	width = a.shape[len(a.shape)-1]
	return a, len(a.v) / width, width
}

// LayerNorm normalizes every row by its own statistics.
func (Engine) LayerNorm(y, mean, invStd, x, gamma, beta engine.Tensor, eps float32) error {
	c := call{op: "layer norm"}
	in, rows, d := c.lines("x", x, 2)
	if c.err != nil {
		return c.err
	}
	out, m, s := c.of("y", y, in.shape...), c.of("mean", mean, in.shape[:len(in.shape)-1]...), c.of("invStd", invStd, in.shape[:len(in.shape)-1]...)
	g, b := c.of("gamma", gamma, d), c.of("beta", beta, d)
	if c.err != nil {
		return c.err
	}
	for r := range rows {
		center, variance := 0.0, 0.0
		for _, v := range in.v[r*d : (r+1)*d] {
			center += float64(v) / float64(d)
		}
		for _, v := range in.v[r*d : (r+1)*d] {
			variance += (float64(v) - center) * (float64(v) - center) / float64(d)
		}
		inverse := 1 / math.Sqrt(variance+float64(eps))
		m.v[r], s.v[r] = float32(center), float32(inverse)
		for j := range d {
			out.v[r*d+j] = float32((float64(in.v[r*d+j])-center)*inverse*float64(g.v[j]) + float64(b.v[j]))
		}
	}
	return nil
}

// LayerNormGrad is the gradient of LayerNorm. With u = (x - mean)*invStd and
// g = dy*gamma, means over a row of D: dx = invStd*(g - mean(g) - u*mean(g*u)).
func (Engine) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	c := call{op: "layer norm gradient"}
	in, rows, d := c.lines("x", x, 2)
	if c.err != nil {
		return c.err
	}
	up, to := c.of("dy", dy, in.shape...), c.maybe("dx", dx, in.shape...)
	m, s := c.of("mean", mean, in.shape[:len(in.shape)-1]...), c.of("invStd", invStd, in.shape[:len(in.shape)-1]...)
	g, dg, db := c.of("gamma", gamma, d), c.maybe("dgamma", dgamma, d), c.maybe("dbeta", dbeta, d)
	if c.err != nil {
		return c.err
	}
	gain, shift := make([]float64, d), make([]float64, d)
	for r := range rows {
		unit := func(j int) float64 { return (float64(in.v[r*d+j]) - float64(m.v[r])) * float64(s.v[r]) }
		slope := func(j int) float64 { return float64(up.v[r*d+j]) * float64(g.v[j]) }
		total, along := 0.0, 0.0
		for j := range d {
			gain[j] += float64(up.v[r*d+j]) * unit(j)
			shift[j] += float64(up.v[r*d+j])
			total += slope(j) / float64(d)
			along += slope(j) * unit(j) / float64(d)
		}
		if to.v == nil {
			continue
		}
		for j := range d {
			to.v[r*d+j] = float32(float64(s.v[r]) * (slope(j) - total - unit(j)*along))
		}
	}
	if dg.v != nil {
		round(dg, gain)
	}
	if db.v != nil {
		round(db, shift)
	}
	return nil
}
