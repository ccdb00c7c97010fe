package cuda

import (
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/vernier-ml/vernier/layers"
)

// The metrics of layers.Metric.Chords look at differences of directions, which
// float32 does not hold for rows that are close. They are computed on the host
// in float64: rows come down, distances go up.

// chordRows are prepared rows, see layers.Metric.ChordRow.
type chordRows struct {
	v     []float64
	sizes []float64
	h     int
}

func (c chordRows) row(i int) []float64 { return c.v[i*c.h : (i+1)*c.h] }

// host brings a tensor's numbers down.
func (g *args) host(x named) []float32 {
	v := make([]float32, x.size)
	g.download(unsafe.Pointer(unsafe.SliceData(v)), g.hostOrder(x), 4*int64(len(v)))
	return v
}

// fill writes host numbers to a tensor.
func (g *args) fill(x named, v []float32) {
	p := g.staged(unsafe.Pointer(unsafe.SliceData(v)), 4*int64(len(v)))
	g.fromHostOrder(x, p.dev)
	g.consumed(p)
}

func (g *args) chordRows(m layers.Metric, x named) chordRows {
	v := g.host(x)
	rows, h := x.shape[0], x.shape[1]
	c := chordRows{v: make([]float64, len(v)), sizes: make([]float64, rows), h: h}
	eachRow(rows, func(r int) { c.sizes[r] = m.ChordRow(c.row(r), v[r*h:(r+1)*h]) })
	return c
}

// chordSides prepares both sides. Note that the host takes part.
func (g *args) chordSides(p pairing) (a, b chordRows) {
	if g.failed(g.eng.attend()); g.err != nil {
		return a, b
	}
	a = g.chordRows(p.metric, p.a)
	if p.a.ptr == p.b.ptr {
		return a, a
	}
	return a, g.chordRows(p.metric, p.b)
}

func (g *args) chords(p pairing, out named) error {
	a, b := g.chordSides(p)
	if g.err != nil {
		return g.err
	}
	d := make([]float32, p.n*p.k)
	eachRow(p.n, func(i int) {
		x := a.row(i)
		for j := range p.k {
			d[i*p.k+j] = saturate(p.metric.ChordValue(chord(x, b.row(j)), a.sizes[i], b.sizes[j]))
		}
	})
	g.fill(out, d)
	return g.err
}

// chord is |x - y|. Prepared rows of float32 numbers neither overflow nor vanish
// when squared.
func chord(x, y []float64) float64 {
	sum := 0.0
	for c, v := range x {
		d := v - y[c]
		sum += d * d
	}
	return math.Sqrt(sum)
}

// saturate rounds to float32, a finite number to a finite one.
func saturate(x float64) float32 {
	if f := float32(x); !math.IsInf(float64(f), 0) || math.IsInf(x, 0) {
		return f
	}
	return float32(math.Copysign(math.MaxFloat32, x))
}

// chordGrad adds up, row by row, what layers.Slopes says of every pair.
func (g *args) chordGrad(p pairing, da, db, dd named) error {
	a, b := g.chordSides(p)
	up := g.host(dd)
	if g.err != nil {
		return g.err
	}
	both := da.there() && db.there() && da.ptr == db.ptr
	slopes := func(i, j int) layers.Slopes {
		return p.metric.ChordSlopes(chord(a.row(i), b.row(j)), a.sizes[i], b.sizes[j], float64(up[i*p.k+j]))
	}
	if da.there() {
		g.fill(da, chordSide(a, b, func(sum []float64, i, j int) {
			s := slopes(i, j)
			addSlopes(sum, a.row(i), b.row(j), s.AlongA, s.ApartA)
			if both {
				s = slopes(j, i)
				addSlopes(sum, a.row(i), b.row(j), s.AlongB, s.ApartB)
			}
		}))
	}
	if db.there() && !both {
		g.fill(db, chordSide(b, a, func(sum []float64, j, i int) {
			s := slopes(i, j)
			addSlopes(sum, b.row(j), a.row(i), s.AlongB, s.ApartB)
		}))
	}
	return g.err
}

// chordSide returns the gradient of every row, the sum over the other side's.
func chordSide(rows, others chordRows, add func(sum []float64, r, o int)) []float32 {
	to := make([]float32, len(rows.v))
	eachRow(len(rows.sizes), func(r int) {
		sum := make([]float64, rows.h)
		for o := range others.sizes {
			add(sum, r, o)
		}
		for c, v := range sum {
			to[r*rows.h+c] = saturate(v)
		}
	})
	return to
}

func addSlopes(sum, x, y []float64, along, apart float64) {
	for c, v := range x {
		sum[c] += along*v + apart*(v-y[c])
	}
}

// eachRow calls f for every row, on all processors; rows do not depend on each
// other.
func eachRow(rows int, f func(r int)) {
	workers := min(rows, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for r := w; r < rows; r += workers {
				f(r)
			}
		})
	}
	wait.Wait()
}
