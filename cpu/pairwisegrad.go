package cpu

import (
	"math"
	"sync/atomic"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// PairwiseGrad sets da and db from dd. It sums, coordinate by coordinate, what
// every pair gives; pairs whose factor float32 cannot hold are left out of that
// and added in float64.
func (e *Engine) PairwiseGrad(da, db, dd, d, a, b engine.Tensor, m metric.Metric) error {
	g := args{op: "pairwise gradient"}
	p := g.pairs(d, a, b, m)
	up := g.get("dd", dd, 2)
	dav, dbv := g.maybe("da", da, 2), g.maybe("db", db, 2)
	if g.err != nil {
		return g.err
	}
	g.want(up, view{name: "d", shape: []int{p.n, p.k}}, p.n, p.k)
	g.want(dav, view{name: "a", shape: []int{p.n, p.h}}, p.n, p.h)
	g.want(dbv, view{name: "b", shape: []int{p.k, p.h}}, p.k, p.h)
	both := dav.v != nil && dbv.v != nil && &dav.v[0] == &dbv.v[0]
	if both && !p.same {
		g.fail("da and db are one tensor, but a and b are not")
	}
	for _, out := range []view{dav, dbv} {
		g.apart(out, up, view{name: "d", v: p.d}, view{name: "a", v: p.a}, view{name: "b", v: p.b})
	}
	if !both {
		g.apart(dav, dbv)
	}
	if g.err != nil || dav.v == nil && dbv.v == nil {
		return g.err
	}
	e.pairGrads(&p, dav.v, dbv.v, up.v)
	return nil
}

// pairGrads sets da and db, either of which may be nil.
func (e *Engine) pairGrads(p *pairArgs, da, db, dd []float32) {
	switch p.metric.Kind {
	case metric.Dot:
		e.dotGrad(p, da, db, dd)
	case metric.Cosine:
		e.cosineGrad(p, da, db, dd)
	case metric.SignalToNoise, metric.Poincare, metric.Lorentz:
		e.chordGrad(p, da, db, dd)
	default:
		e.distanceGrad(p, da, db, dd)
	}
}

func (e *Engine) distanceGrad(p *pairArgs, da, db, dd []float32) {
	s := newPairSum(e.kernels, p.metric, p.h)
	coef := grow(&e.scratch.first, p.n*p.k)
	hard := e.pairCoefs(coef, p, &s, dd)
	both := da != nil && db != nil && &da[0] == &db[0]
	if both {
		p.fold(e, coef)
	}
	vec := e.kernels.vec
	e.pool.run(ceilDiv(p.h, vec), func(worker, item int) {
		c := item * vec
		width := min(vec, p.h-c)
		buf := grow(&e.scratch.workers[worker].rows, 2*(p.n+p.k)*vec)
		a, buf := buf[:p.n*vec], buf[p.n*vec:]
		ga, buf := buf[:p.n*vec], buf[p.n*vec:]
		b, gb := buf[:p.k*vec], buf[p.k*vec:2*p.k*vec]
		e.kernels.copyRows(a, vec, p.a[c:], p.h, p.n, width, vec)
		e.kernels.copyRows(b, vec, p.b[c:], p.h, p.k, width, vec)
		clear(ga)
		clear(gb)
		e.sumGrads(p, &s, coef, a, ga, b, gb, both)
		if both {
			e.kernels.add(ga, ga, gb)
		}
		if da != nil {
			spreadRows(da[c:], p.h, ga, vec, width)
		}
		if db != nil && !both {
			spreadRows(db[c:], p.h, gb, vec, width)
		}
	})
	if hard {
		e.hardGrads(p, &s, da, db, dd)
	}
}

// gradCols is how many rows of b are met at a time: their coordinates and
// gradients stay in a first-level cache.
const gradCols = 256

// sumGrads adds up the gradients of one vector of coordinates. If a and b are
// one matrix whose gradients are summed, every unordered pair comes once.
func (e *Engine) sumGrads(p *pairArgs, s *pairSum, coef, a, ga, b, gb []float32, both bool) {
	vec := e.kernels.vec
	for j0 := 0; j0 < p.k; j0 += gradCols {
		j1 := min(j0+gradCols, p.k)
		for i := range p.n {
			from := j0
			if both {
				from = max(j0, i+1)
			}
			if from >= j1 {
				break
			}
			s.kernel.grad(ga[i*vec:(i+1)*vec], gb[from*vec:j1*vec], a[i*vec:(i+1)*vec], b[from*vec:j1*vec], coef[i*p.k+from:i*p.k+j1], s.args)
		}
	}
}

// spreadRows copies the rows of width numbers in src, stride apart, to dst.
func spreadRows(dst []float32, dstStride int, src []float32, stride, width int) {
	for i := 0; i*stride < len(src); i++ {
		copy(dst[i*dstStride:][:width], src[i*stride:])
	}
}

// pairCoefs sets coef to the factors by which R' (p = 1) or R R' (p = 2) of a
// pair is multiplied, and reports whether some are hard; these are set to 0.
func (e *Engine) pairCoefs(coef []float32, p *pairArgs, s *pairSum, dd []float32) bool {
	var hard atomic.Bool
	e.pool.run(p.n, func(_, i int) {
		for j := range p.k {
			at := i*p.k + j
			c, ok := s.coef(p, dd[at], p.d[at])
			if !ok {
				hard.Store(true)
				c = 0
			}
			coef[at] = c
		}
	})
	return hard.Load()
}

// coef returns the factor of a pair, and false if float32 cannot hold it or the
// distance it comes from.
func (s *pairSum) coef(p *pairArgs, upstream, d float32) (float32, bool) {
	if upstream == 0 || s.root && d == 0 {
		return 0 * d * upstream, true // 0, or NaN
	}
	u, v := float64(upstream), float64(d)
	if math.IsInf(s.tiny, 1) {
		return 0, false
	}
	scale := s.args.slope
	if p.metric.Kind == metric.BRM {
		scale /= float64(p.h)
		if p.metric.P == 1 {
			return float32(u * scale), true
		}
		scale *= s.args.value
	}
	if p.metric.Kind == metric.Manhattan {
		return upstream, true
	}
	if d > 0.99*math.MaxFloat32 {
		return 0, false
	}
	var c float64
	if s.root {
		if d < 1e-30 {
			return 0, false
		}
		c = u / v * scale
	} else {
		c = 2 * u * scale
	}
	if size := math.Abs(c); size > 1e35 || size < 1e-35 && v > 1 {
		return 0, false
	}
	return float32(c), true
}

// fold adds the factor of (j, i) to that of (i, j) for i < j.
func (p *pairArgs) fold(e *Engine, coef []float32) {
	e.pool.run(p.n, func(_, i int) {
		for j := i + 1; j < p.n; j++ {
			coef[i*p.n+j] += coef[j*p.n+i]
		}
	})
}

// hardGrads adds the gradients of hard pairs.
func (e *Engine) hardGrads(p *pairArgs, s *pairSum, da, db, dd []float32) {
	wide := func(x []float32) []float64 {
		w := make([]float64, len(x))
		for i, v := range x {
			w[i] = float64(v)
		}
		return w
	}
	a := wide(p.a)
	b := a
	if !p.same {
		b = wide(p.b)
	}
	add := func(to []float32, rows, others int, pair func(r, o int) int, grad func(sum []float64, r, o int, up float64)) {
		e.pool.run(rows, func(_, r int) {
			var sum []float64
			for o := range others {
				at := pair(r, o)
				if _, ok := s.coef(p, dd[at], p.d[at]); ok {
					continue
				}
				if sum == nil {
					sum = make([]float64, p.h)
				}
				grad(sum, r, o, float64(dd[at]))
			}
			for c, v := range sum {
				to[r*p.h+c] = saturate(float64(to[r*p.h+c]) + v)
			}
		})
	}
	row := func(x []float64, i int) []float64 { return x[i*p.h : (i+1)*p.h] }
	if da != nil {
		add(da, p.n, p.k, func(i, j int) int { return i*p.k + j }, func(sum []float64, i, j int, up float64) {
			p.metric.Gradient(sum, nil, row(a, i), row(b, j), up)
		})
	}
	if db != nil {
		add(db, p.k, p.n, func(j, i int) int { return i*p.k + j }, func(sum []float64, j, i int, up float64) {
			p.metric.Gradient(nil, sum, row(a, i), row(b, j), up)
		})
	}
}
