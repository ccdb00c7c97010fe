package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// lines is a tensor seen as rows along its last axis.
type lines struct{ rows, width int }

// lines demands at least least axes.
func (g *args) lines(x view, least int) lines {
	if g.err == nil && len(x.shape) < least {
		g.fail("%v has %d axes, want %d or more", x, len(x.shape), least)
	}
	if g.err != nil {
		return lines{}
	}
	width := x.shape[len(x.shape)-1]
	return lines{len(x.v) / width, width}
}

func (l lines) row(v []float32, r int) []float32 { return v[r*l.width:][:l.width] }

// leading is a shape without its last axis.
func leading(shape []int) []int { return shape[:max(0, len(shape)-1)] }

// LayerNorm normalizes every row by its own statistics.
func (e *Engine) LayerNorm(y, mean, invStd, x, gamma, beta engine.Tensor, eps float32) error {
	g := args{op: "layer norm"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	l := g.lines(s, 2)
	me, inv := g.get("mean", mean, -1), g.get("invStd", invStd, -1)
	ga, be := g.get("gamma", gamma, 1), g.get("beta", beta, 1)
	g.same(d, s)
	g.want(me, s, leading(s.shape)...)
	g.want(inv, s, leading(s.shape)...)
	g.want(ga, s, l.width)
	g.want(be, s, l.width)
	g.apart(d, s, ga, be)
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	e.eachRow(l.rows, func(r int) {
		from := l.row(s.v, r)
		m64 := kr.sum(from) / float64(l.width)
		m := float32(m64)
		off := m64 - float64(m) // m is rounded
		squares := squaresAbout(kr.spread(from, m), off, l.width)
		scale := 1 / math.Sqrt(squares/float64(l.width)+float64(eps))
		me.v[r], inv.v[r] = m, float32(scale)
		kr.layerNorm(l.row(d.v, r), from, ga.v, be.v, m, float32(scale), float32(-off*scale))
	})
	return nil
}

// normRows is the number of rows whose column sums are added up in float32, and
// so the item of work of a gradient; the sums of items are added in float64.
const normRows = 32

// LayerNormGrad is the gradient of LayerNorm: with u = (x-mean)*invStd and
// g = dy*gamma, dx = invStd*(g - mean(g) - u*mean(g*u)), dgamma = sum dy*u and
// dbeta = sum dy over the rows.
func (e *Engine) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	g := args{op: "layer norm gradient"}
	u, s := g.get("dy", dy, -1), g.get("x", x, -1)
	l := g.lines(s, 2)
	ga, me, inv := g.get("gamma", gamma, 1), g.get("mean", mean, -1), g.get("invStd", invStd, -1)
	d, dg, db := g.maybe("dx", dx, -1), g.maybe("dgamma", dgamma, 1), g.maybe("dbeta", dbeta, 1)
	g.same(u, s)
	g.same(d, s)
	g.want(me, s, leading(s.shape)...)
	g.want(inv, s, leading(s.shape)...)
	for _, p := range []view{ga, dg, db} {
		g.want(p, s, l.width)
	}
	for _, to := range []view{d, dg, db} {
		g.apart(to, u, s, ga, me, inv)
	}
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	items := ceilDiv(l.rows, normRows)
	sums := dg.v != nil || db.v != nil
	var parts []float32
	if sums {
		parts = grow(&e.scratch.parts, items*2*l.width)
	}
	e.pool.run(items, func(_, i int) {
		var gain, shift []float32
		if sums {
			gain, shift = parts[2*i*l.width:][:l.width], parts[(2*i+1)*l.width:][:l.width]
			clear(gain)
			clear(shift)
		}
		for r := i * normRows; r < min((i+1)*normRows, l.rows); r++ {
			up, from, m, scale := l.row(u.v, r), l.row(s.v, r), me.v[r], inv.v[r]
			if sums {
				kr.normSums(gain, shift, up, from, m, scale)
			}
			if d.v != nil {
				total, along := kr.layerNormSums(up, from, ga.v, m)
				n, is := float64(l.width), float64(scale)
				kr.layerNormGrad(l.row(d.v, r), up, from, ga.v, scale, float32(-is*is*is*along/n), m, float32(-is*total/n))
			}
		}
	})
	if sums {
		addParts(dg.v, parts, 0, 2*l.width)
		addParts(db.v, parts, l.width, 2*l.width)
	}
	return nil
}

// addParts sets dst to the sum of len(dst) numbers at from, from+stride, ... of
// parts; nothing if dst is nil.
func addParts(dst, parts []float32, from, stride int) {
	for j := range dst {
		total := 0.0
		for i := from + j; i < len(parts); i += stride {
			total += float64(parts[i])
		}
		dst[j] = float32(total)
	}
}
