package cuda

import (
	"math"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/metric"
)

// The metrics of metric.Metric.Chords look at differences of directions, which
// float32 does not hold for rows that are close. They are computed in float64.

// chordRows are prepared rows and their lengths, see metric.Metric.ChordRow.
type chordRows struct{ v, sizes device.Ptr }

func (g *args) chordRows(m metric.Metric, x device.Ptr, rows, h int) chordRows {
	c := chordRows{g.doubles(rows * h), g.doubles(rows)}
	g.launch(kernels.ChordRows(rows, h, c.v, c.sizes, x, m.Kind != metric.SignalToNoise))
	return c
}

// chordSides prepares both sides.
func (g *args) chordSides(p pairing, x, y device.Ptr) (a, b chordRows) {
	a = g.chordRows(p.metric, x, p.groups*p.n, p.h)
	if x == y {
		return a, a
	}
	return a, g.chordRows(p.metric, y, p.groups*p.k, p.h)
}

// chordKernel says how the kernels of a metric between n and k rows are asked for.
func (p pairing) chordKernel(n, k int) kernels.Chords {
	c := kernels.Chords{Groups: p.groups, N: n, K: k, H: p.h}
	if p.metric.Kind != metric.SignalToNoise {
		c.Root = math.Sqrt(p.metric.Curvature)
		c.Most, c.Grow = p.metric.Radii()
	}
	return c
}

func (g *args) chords(p pairing, d, x, y device.Ptr) {
	a, b := g.chordSides(p, x, y)
	g.launch(p.chordKernel(p.n, p.k).Value(d, a.v, b.v, a.sizes, b.sizes))
}

// chordGrad adds up, row by row, what layers.Slopes says of every pair.
func (g *args) chordGrad(s slopes) {
	a, b := g.chordSides(s.pairing, s.x, s.y)
	along, apart := g.doubles(s.groups*s.n*s.k), g.doubles(s.groups*s.n*s.k)
	side := func(to device.Ptr, n, k int, rows, others chordRows, sides kernels.Sides) {
		c := s.chordKernel(n, k)
		g.launch(c.Slopes(along, apart, rows.v, others.v, rows.sizes, others.sizes, s.dd, sides), c.Grad(to, along, apart, rows.v, others.v))
	}
	switch {
	case s.both:
		side(s.da, s.n, s.k, a, b, kernels.BothSides)
		return
	case s.da != 0:
		side(s.da, s.n, s.k, a, b, kernels.SideA)
	}
	if s.db != 0 {
		side(s.db, s.k, s.n, b, a, kernels.SideB)
	}
}

// doubles is scratch for n float64 numbers.
func (g *args) doubles(n int) device.Ptr { return g.scratch(8 * int64(n)) }
