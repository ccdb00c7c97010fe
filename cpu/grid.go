package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/internal/approx"
	"github.com/vernier-ml/vernier/metric"
)

// grids are the piecewise polynomials of a restriction, in the layout that approx
// describes: of the value, and of the slope for p = 1 and 2.
type grids struct {
	value []float32
	slope [2][]float32
}

// fallGrid has those of Sigmoid and TanH, R' and R R' being whole. They are
// within 4e-7 of B, and within 3e-6 of themselves where t is small.
func fallGrid(r metric.Restriction) grids {
	width := math.Ldexp(1, -fallBits(r))
	value := func(t float64) float64 { return r.Value(t, 0) }
	slope := func(t float64) float64 { return r.Slope(t, 0) }
	both := func(t float64) float64 { return r.Value(t, 0) * r.Slope(t, 0) }
	return grids{
		value: fitGrid(value, approx.FallDegree, width, true),
		slope: [2][]float32{fitGrid(slope, approx.FallDegree, width, false), fitGrid(both, approx.FallDegree, width, true)},
	}
}

func fallBits(r metric.Restriction) int {
	if r == metric.TanH {
		return approx.FallBits + 1
	}
	return approx.FallBits
}

// fitGrid approximates f on [0, (GridEntries-1) width]. The first interval starts
// at 0; if f(0) = 0 it keeps its relative precision there. In the last, which ends
// at its middle because arguments are clamped to that, f goes in a straight line
// to its limit, so that what is saturated is exactly so.
func fitGrid(f func(float64) float64, degree int, width float64, odd bool) []float32 {
	c := make([]float32, (degree+1)*approx.GridEntries)
	set := func(i int, p []float64) {
		for k, v := range p {
			c[k*approx.GridEntries+i] = float32(v)
		}
	}
	if odd {
		p := interpolate(func(t float64) float64 { return f(t) / t }, degree-1, 0, width/2)
		set(0, append([]float64{0}, p...))
	} else {
		set(0, interpolate(f, degree, 0, width/2))
	}
	last := approx.GridEntries - 1
	for i := 1; i < last; i++ {
		middle := float64(i) * width
		set(i, interpolate(func(r float64) float64 { return f(middle + r) }, degree, -width/2, width/2))
	}
	limit, before := f(1e3), f((float64(last)-0.5)*width)
	set(last, []float64{limit, (limit - before) / (width / 2)})
	return c
}

// arcGrid has those of ArcTan. Its R' is no polynomial. Both are analytic in w on
// the whole of [0, ArcScale].
func arcGrid() grids {
	of := func(g func(t float64) float64) []float32 {
		c := make([]float32, (approx.ArcDegree+1)*approx.GridEntries)
		width := math.Ldexp(1, -approx.ArcBits)
		for i := range approx.GridEntries {
			middle := float64(i) * width
			low, high := math.Max(-width/2, -middle), math.Min(width/2, approx.ArcScale-middle)
			f := func(r float64) float64 {
				w := middle + r
				return g(approx.ArcScale/w-1) / (approx.ArcScale - w) // t w = ArcScale - w
			}
			for k, v := range interpolate(f, approx.ArcDegree, low, high) {
				c[k*approx.GridEntries+i] = float32(v)
			}
		}
		return c
	}
	return grids{
		value: of(math.Atan),
		slope: [2][]float32{1: of(func(t float64) float64 {
			w := approx.ArcScale / (1 + t)
			return math.Atan(t) / (1 + t*t) / (w * w)
		})},
	}
}

// interpolate returns the coefficients, lowest first, of the polynomial that
// equals f at the Chebyshev nodes of [low, high].
func interpolate(f func(float64) float64, degree int, low, high float64) []float64 {
	n := degree + 1
	x, d := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = (low+high)/2 + (high-low)/2*math.Cos(math.Pi*(float64(i)+0.5)/float64(n))
		d[i] = f(x[i])
	}
	for k := 1; k < n; k++ { // divided differences of Newton's form
		for i := n - 1; i >= k; i-- {
			d[i] = (d[i] - d[i-1]) / (x[i] - x[i-k])
		}
	}
	p := []float64{d[degree]}
	for i := degree - 1; i >= 0; i-- { // p (r - x_i) + d_i
		next := make([]float64, len(p)+1)
		for k, v := range p {
			next[k+1] += v
			next[k] -= v * x[i]
		}
		next[0] += d[i]
		p = next
	}
	return p
}
