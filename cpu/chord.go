package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// chordRows are prepared rows, see metric.Metric.ChordRow, in float64: these
// metrics look at differences of directions, which float32 does not hold for
// rows that are close.
type chordRows struct {
	v     []float64
	sizes []float64
	h     int
}

func (e *Engine) chordRows(m metric.Metric, x []float32, rows, h int) chordRows {
	c := chordRows{v: make([]float64, len(x)), sizes: make([]float64, rows), h: h}
	e.eachRow(rows, func(r int) { c.sizes[r] = m.ChordRow(c.row(r), x[r*h:(r+1)*h]) })
	return c
}

func (c chordRows) row(i int) []float64 { return c.v[i*c.h : (i+1)*c.h] }

// chordSides prepares both sides.
func (e *Engine) chordSides(p *pairArgs) (a, b chordRows) {
	a = e.chordRows(p.metric, p.a, p.n, p.h)
	if p.same {
		return a, a
	}
	return a, e.chordRows(p.metric, p.b, p.k, p.h)
}

// chords sets the values of a metric on prepared rows.
func (e *Engine) chords(p *pairArgs) {
	a, b := e.chordSides(p)
	e.pool.run(p.n, func(_, i int) {
		x := a.row(i)
		for j := range p.k {
			p.d[i*p.k+j] = saturate(p.metric.ChordValue(chord(x, b.row(j)), a.sizes[i], b.sizes[j]))
		}
	})
}

// chord is |x - y|. Prepared rows of float32 numbers neither overflow nor vanish
// when squared.
func chord(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	c := 0
	for ; c+4 <= len(x); c += 4 {
		d0, d1, d2, d3 := x[c]-y[c], x[c+1]-y[c+1], x[c+2]-y[c+2], x[c+3]-y[c+3]
		s0, s1, s2, s3 = s0+d0*d0, s1+d1*d1, s2+d2*d2, s3+d3*d3
	}
	for ; c < len(x); c++ {
		d := x[c] - y[c]
		s0 += d * d
	}
	return math.Sqrt(s0 + s1 + s2 + s3)
}

// chordGrad adds up, row by row, what layers.Slopes says of every pair.
func (e *Engine) chordGrad(p *pairArgs, da, db, dd []float32) {
	a, b := e.chordSides(p)
	both := da != nil && db != nil && &da[0] == &db[0]
	if da != nil {
		e.chordSide(da, a, b, func(sum []float64, i, j int) {
			x, y := a.row(i), b.row(j)
			s := p.metric.ChordSlopes(chord(x, y), a.sizes[i], b.sizes[j], float64(dd[i*p.k+j]))
			addSlopes(sum, x, y, s.AlongA, s.ApartA)
			if both {
				s = p.metric.ChordSlopes(chord(y, x), b.sizes[j], a.sizes[i], float64(dd[j*p.k+i]))
				addSlopes(sum, x, y, s.AlongB, s.ApartB)
			}
		})
	}
	if db != nil && !both {
		e.chordSide(db, b, a, func(sum []float64, j, i int) {
			x, y := a.row(i), b.row(j)
			s := p.metric.ChordSlopes(chord(x, y), a.sizes[i], b.sizes[j], float64(dd[i*p.k+j]))
			addSlopes(sum, y, x, s.AlongB, s.ApartB)
		})
	}
}

// chordSide sets the gradient of every row to the sum over the other side's.
func (e *Engine) chordSide(to []float32, rows, others chordRows, add func(sum []float64, r, o int)) {
	e.pool.run(len(rows.sizes), func(_, r int) {
		sum := make([]float64, rows.h)
		for o := range others.sizes {
			add(sum, r, o)
		}
		for c, v := range sum {
			to[r*rows.h+c] = saturate(v)
		}
	})
}

func addSlopes(sum, x, y []float64, along, apart float64) {
	y, sum = y[:len(x)], sum[:len(x)]
	for c, v := range x {
		sum[c] += along*v + apart*(v-y[c])
	}
}
