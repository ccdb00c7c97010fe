package metric

import (
	"fmt"
	"math"
)

// Value returns the metric of two embeddings of the same length h, computed in
// float64. A distance of equal embeddings is 0; a cosine with a zero vector is
// 0, and an anchor without variance is 2 away, by SignalToNoise, from all that
// have some. NaN coordinates give NaN. Finite embeddings give neither NaN nor a
// premature overflow, and distances keep their relative precision at every
// scale. It panics if the lengths differ.
func (m Metric) Value(a, b []float32) float64 { return metricValue(m, a, b) }

// Value64 is Value for float64 embeddings.
func (m Metric) Value64(a, b []float64) float64 { return metricValue(m, a, b) }

func metricValue[T float32 | float64](m Metric, a, b []T) float64 {
	checkRowLengths(len(a), len(b))
	switch m.Kind {
	case BRM:
		return m.power(brmDistance(m, a, b))
	case Euclidean:
		return diffSquares(a, b).norm()
	case SquaredEuclidean:
		n := diffSquares(a, b).norm()
		return n * n
	case Manhattan:
		sum := 0.0
		for i, x := range a {
			sum += math.Abs(float64(x) - float64(b[i]))
		}
		return sum
	case Cosine:
		return cosineValue(a, b)
	case Dot:
		sum := 0.0
		for i, x := range a {
			sum += float64(x) * float64(b[i])
		}
		return sum
	case SignalToNoise, Poincare, Lorentz:
		return chordMetricValue(m, a, b)
	}
	return math.NaN()
}

// brmDistance is D of BRM Eq. 7, whatever m.Power says.
func brmDistance[T float32 | float64](m Metric, a, b []T) float64 {
	h := float64(len(a))
	switch {
	case h == 0:
		return 0
	case m.P == 1:
		sum := 0.0
		for i, x := range a {
			sum += m.Restriction.Value(math.Abs(float64(x)-float64(b[i])), m.Omega)
		}
		return sum / h
	case m.P == 2:
		var sum scaledSquares
		for i, x := range a {
			sum.add(m.Restriction.Value(math.Abs(float64(x)-float64(b[i])), m.Omega))
		}
		return sum.norm() / math.Sqrt(h)
	}
	return math.NaN()
}

// power raises a BRM distance to p if the metric asks for it.
func (m Metric) power(d float64) float64 {
	if m.Power && m.P == 2 {
		return d * d
	}
	return d
}

func cosineValue[T float32 | float64](a, b []T) float64 {
	na, nb := rowSquares(a).norm(), rowSquares(b).norm()
	if na == 0 || nb == 0 {
		return 0
	}
	sum := 0.0
	for i, x := range a {
		sum += (float64(x) / na) * (float64(b[i]) / nb)
	}
	switch { // rounding may go beyond; not min and max, NaN stays
	case sum > 1:
		return 1
	case sum < -1:
		return -1
	}
	return sum
}

// scaledSquares is a sum of squares scale^2*sum, which cannot overflow or vanish
// before its root does (Blue 1978 as in BLAS nrm2).
type scaledSquares struct{ scale, sum float64 }

func (s *scaledSquares) add(x float64) {
	x = math.Abs(x)
	switch {
	case x == 0:
	case x > s.scale:
		r := s.scale / x
		s.sum = 1 + s.sum*r*r
		s.scale = x
	case x == s.scale: // also two infinities, whose ratio is no number
		s.sum++
	default:
		r := x / s.scale
		s.sum += r * r
	}
}

func (s scaledSquares) norm() float64 { return s.scale * math.Sqrt(s.sum) }

func diffSquares[T float32 | float64](a, b []T) (sum scaledSquares) {
	for i, x := range a {
		sum.add(float64(x) - float64(b[i]))
	}
	return sum
}

func rowSquares[T float32 | float64](a []T) (sum scaledSquares) {
	for _, x := range a {
		sum.add(float64(x))
	}
	return sum
}

func checkRowLengths(a, b int) {
	if a != b {
		panic(fmt.Sprintf("layers: metric between embeddings of %d and %d coordinates", a, b))
	}
}

// Similarity reports whether larger values mean closer.
func (m Metric) Similarity() bool { return m.Kind == Cosine || m.Kind == Dot }

// Bound returns the supremum of the values: B of the restriction for BRM's D,
// B^p for D^p, 1 for Cosine, what the clip and the rim of the ball leave for
// Poincare and Lorentz, +Inf for the others.
func (m Metric) Bound() float64 {
	switch m.Kind {
	case BRM:
		return m.power(m.Restriction.Bound(m.Omega))
	case Cosine:
		return 1
	case Poincare, Lorentz:
		return 2 * m.radius(math.Inf(1))
	}
	return math.Inf(1)
}

// Symmetric reports whether Value(a, b) is Value(b, a).
func (m Metric) Symmetric() bool { return m.Kind != SignalToNoise }
