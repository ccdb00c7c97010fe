package eval

import (
	"math"

	"github.com/vernier-ml/vernier/metric"
)

const (
	unitRoundoff = 1.0 / (1 << 24) // of float32
	// restrictionError bounds the error of R in float32, as a share of its
	// bound B: sixteen units in the last place of B.
	restrictionError = 1.0 / (1 << 20)
	// underflow is what one sum may lose to numbers too small for float32.
	underflow = 0x1p-125
)

// keyError bounds |float32 key - float64 key| between a row of reach a and rows
// of reach at most b, of h coordinates. It is the worst case of any order of
// summation (Higham, Accuracy and Stability of Numerical Algorithms, section
// 3.1) of h+1 products of rounded numbers. It is +Inf where float32 may
// overflow: nothing that the engine says counts there, everything is decided in
// float64.
func (o order) keyError(a, b float64, h int) float64 {
	sum := float64(h+12) * unitRoundoff
	lost := float64(h+12) * underflow
	switch {
	case o.kernel.Kind == metric.BRM && o.kernel.P == 1:
		return (restrictionError+sum)*o.kernel.Bound() + lost
	case o.kernel.Kind == metric.BRM:
		return (2*restrictionError+sum)*o.kernel.Bound() + lost // Bound is B^2
	case o.kernel.Kind == metric.Manhattan: // reaches are sums of magnitudes
		return overflowing(sum*(a+b), a+b) + lost
	case o.centered:
		if a == 0 { // there is no signal, and nothing to divide by
			return math.Inf(1)
		}
		parts := (1 + b/a) * (1 + b/a)
		return overflowing((sum+lost)*parts, parts) + lost
	case o.metric.Chords():
		return o.hyperbolicError(a, b, sum) + lost
	case o.expand:
		return overflowing(sum*(a+b)*(a+b), (a+b)*(a+b)) + lost
	case o.unit:
		return sum + lost
	}
	return overflowing(sum*a*b, a*b) + lost
}

// rowKeyError bounds the error of a key of BRM or Manhattan where the keys in float32 and in
// float64 are at most key, and the sum has partial sums of terms terms at
// most. Rounding is relative to the sum; an error of d in every R changes their mean
// by d at most, and the root of the mean of their squares likewise (Minkowski).
func (o order) rowKeyError(key float64, terms int) float64 {
	key = max(key, 0)
	sum := float64(terms+12) * unitRoundoff
	if o.metric.Kind == metric.Manhattan {
		return overflowing(sum*key, key) + float64(terms+12)*underflow
	}
	d := restrictionError * o.metric.Restriction.Bound(o.metric.Omega)
	lost := float64(16*terms+12) * underflow
	if o.metric.P == 1 {
		return d + sum*key + lost
	}
	return 2*math.Sqrt(key)*d + d*d + sum*key + lost
}

// hyperbolicError bounds the error of a distance whose directions, lengths and
// functions have relative errors of sum: an angle off by that moves a point at
// radius r by sinh(r sqrt(c))/sqrt(c) times as much, and a radius counts as it is.
func (o order) hyperbolicError(a, b, sum float64) float64 {
	k := math.Sqrt(o.metric.Curvature)
	ra, rb := o.metric.SphereValue(2, a)/2, o.metric.SphereValue(2, b)/2
	moved := 2*math.Sinh(k*max(ra, rb))/k + 8*(ra+rb)
	return overflowing(sum*moved, moved)
}

func overflowing(err, largest float64) float64 {
	if largest > math.MaxFloat32/8 {
		return math.Inf(1)
	}
	return err
}

// roundDown and roundUp convert to float32 without crossing x.
func roundDown(x float64) float32 {
	f := float32(x)
	if float64(f) > x {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

func roundUp(x float64) float32 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}
