package metric

import "math"

// SphereValue returns the value of the metric between two embeddings whose
// directions are chord apart on the unit sphere (chord = |u - v|, from 0 to 2;
// sqrt 2 for orthogonal ones), at embedding scale c > 0. It carries margins over
// from the unit sphere to any metric.
//
// For BRM an embedding of h coordinates is x = c*sqrt(h)*z/|z|. Its coordinates
// are near independent normal ones of deviation c in many dimensions, so their
// differences have deviation s = c*chord and the value tends to
//
//	g(s) = (E R(s|n|)^p)^(1/p),  n standard normal
//
// (g^p for D^p). For Manhattan an embedding is x = c*z/(|z| sqrt(2h/pi)), so that the sum
// of its |x_i| tends to c, and the value to c*chord. The other metrics are exact for embeddings of length c,
// x = c*z/|z|: Euclidean c*chord, SquaredEuclidean its square, Cosine
// 1 - chord^2/2, Dot c^2 times that, Poincare and Lorentz by the law of cosines.
// SignalToNoise is chord^2 where coordinates have mean 0, as they tend to in many
// dimensions.
//
// A negative or undefined argument gives NaN.
func (m Metric) SphereValue(chord, c float64) float64 {
	if !(chord >= 0 && c >= 0) {
		return math.NaN()
	}
	switch m.Kind {
	case BRM:
		return m.power(m.normalMean(c * chord))
	case Euclidean, Manhattan:
		return c * chord
	case SquaredEuclidean:
		return c * chord * c * chord
	case Cosine:
		return 1 - chord*chord/2
	case Dot:
		return c * c * (1 - chord*chord/2)
	case SignalToNoise:
		return chord * chord
	case Poincare, Lorentz:
		return m.ChordValue(chord, c, c)
	}
	return math.NaN()
}

// UnrelatedValue returns D0 = SphereValue(sqrt 2, c): the value between two
// embeddings that have nothing to do with each other, since random directions
// are orthogonal in many dimensions. It is the unit in which margins and
// temperatures on a metric are best given.
func (m Metric) UnrelatedValue(c float64) float64 { return m.SphereValue(math.Sqrt2, c) }

// normalMean is g(s). With x = e^u the integral over the half line becomes
// 2*Int R(s e^u)^p phi(e^u) e^u du, smooth and vanishing fast on both sides
// however large or small s is, where the trapezoid rule converges
// geometrically: the poles of R lie at an imaginary part of pi/2 or more and
// phi(e^u) is tame within pi/4, so that the error is about exp(-pi^2/(2*step)).
// Gauss-Hermite needs thousands of points at large s, and fails on the kink of
// R(s|n|) at p = 1.
func (m Metric) normalMean(s float64) float64 {
	const (
		step = 1.0 / 16
		from = -44 * 16 // below e^-44 lies less than 1e-18 of the whole
		to   = 40       // phi(e^2.5) is 1e-33
	)
	if math.IsInf(s, 1) {
		return m.Restriction.Bound(m.Omega)
	}
	sum, squares := 0.0, scaledSquares{}
	for i := from; i <= to; i++ {
		x := math.Exp(float64(i) * step)
		weight := 2 * step * x * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		r := m.Restriction.Value(s*x, m.Omega)
		if m.P == 1 {
			sum += weight * r
		} else {
			squares.add(math.Sqrt(weight) * r)
		}
	}
	switch m.P {
	case 1:
		return sum
	case 2:
		return squares.norm()
	}
	return math.NaN()
}

// Squared reports whether the metric's values are squares of distances: twice the
// difference of two embeddings that are near each other has four times the value.
func (m Metric) Squared() bool {
	return m.Kind == SquaredEuclidean || m.Kind == SignalToNoise || m.Kind == BRM && m.Power && m.P == 2
}

// ScaledUnrelated is UnrelatedValue of BRM for embeddings whose coordinates have scales
// of their own, exp(logs[k]), in turn; one scale is UnrelatedValue to eight digits. It
// also returns the derivatives in logs. Margins and temperatures on a metric whose scale
// changes are kept in proportion to it.
func (m Metric) ScaledUnrelated(logs []float64) (value float64, slopes []float64) {
	slopes = make([]float64, len(logs))
	n := float64(len(logs))
	for k, log := range logs {
		moment, slope := m.normalMoment(math.Sqrt2 * math.Exp(log))
		value += moment / n
		slopes[k] = slope / n
	}
	if m.P == 1 || m.Power {
		return value, slopes
	}
	value = math.Sqrt(value)
	for k := range slopes {
		slopes[k] /= 2 * value
	}
	return value, slopes
}

// normalMoment is g(s)^p and its derivative in log s. It takes wider steps than
// normalMean and ends earlier, for an error below 1e-8: it may be needed for each
// coordinate in each step.
func (m Metric) normalMoment(s float64) (moment, slope float64) {
	const (
		step = 3.0 / 16
		from = -107 // below e^-20 lies 2e-9 of the whole
		to   = 14
	)
	for i := from; i <= to; i++ {
		x := math.Exp(float64(i) * step)
		weight := 2 * step * x * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		t := s * x
		r, d := m.Restriction.Value(t, m.Omega), t*m.Restriction.Slope(t, m.Omega)
		if m.P == 2 {
			r, d = r*r, 2*r*d
		}
		moment += weight * r
		slope += weight * d
	}
	return moment, slope
}
