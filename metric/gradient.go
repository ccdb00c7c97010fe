package metric

import "math"

// Gradient adds upstream * dm/da to da and upstream * dm/db to db, where m is
// the metric's value at (a, b). Either may be nil; they may be one slice, which
// then receives both. A coordinate in which a and b are equal contributes 0 to
// BRM, Manhattan and the Euclidean metrics; a distance that is 0, a cosine with a zero vector
// and an anchor without variance contribute 0. All lengths must be equal,
// otherwise it panics.
func (m Metric) Gradient(da, db, a, b []float64, upstream float64) {
	checkRowLengths(len(a), len(b))
	if da != nil {
		checkRowLengths(len(a), len(da))
	}
	if db != nil {
		checkRowLengths(len(a), len(db))
	}
	switch m.Kind {
	case BRM:
		m.restrictedGradient(da, db, a, b, upstream)
	case Euclidean:
		d := diffSquares(a, b).norm()
		if d == 0 {
			return
		}
		for i := range a {
			addGradPair(da, db, i, upstream*((a[i]-b[i])/d))
		}
	case SquaredEuclidean:
		for i := range a {
			addGradPair(da, db, i, upstream*2*(a[i]-b[i]))
		}
	case Manhattan:
		for i := range a {
			addGradPair(da, db, i, upstream*sign(a[i]-b[i]))
		}
	case Cosine:
		cosineGradient(da, db, a, b, upstream)
	case Dot:
		for i := range a {
			addGrad(da, i, upstream*b[i])
			addGrad(db, i, upstream*a[i])
		}
	case SignalToNoise, Poincare, Lorentz:
		chordMetricGradient(m, da, db, a, b, upstream)
	}
}

// restrictedGradient differentiates BRM Eq. 7. With r_i = R(|a_i - b_i|):
// dD/da_i = sign(a_i - b_i) R'_i/h * (r_i/D)^(p-1), and for D^2 the last factor
// is 2 r_i. r_i/D is at most sqrt(h), however small both are.
func (m Metric) restrictedGradient(da, db, a, b []float64, upstream float64) {
	d := brmDistance(m, a, b)
	if d == 0 {
		return
	}
	h := float64(len(a))
	for i := range a {
		diff := a[i] - b[i]
		if diff == 0 {
			continue
		}
		t := math.Abs(diff)
		g := upstream / h * m.Restriction.Slope(t, m.Omega)
		if diff < 0 {
			g = -g
		}
		if m.P == 2 {
			r := m.Restriction.Value(t, m.Omega)
			if m.Power {
				g *= 2 * r
			} else {
				g *= r / d
			}
		}
		addGradPair(da, db, i, g)
	}
}

// cosineGradient: with unit vectors u and v, d(u.v)/da = (v - (u.v) u)/|a|.
func cosineGradient(da, db, a, b []float64, upstream float64) {
	na, nb := rowSquares(a).norm(), rowSquares(b).norm()
	if na == 0 || nb == 0 {
		return
	}
	c := cosineValue(a, b)
	for i := range a {
		u, v := a[i]/na, b[i]/nb
		addGrad(da, i, upstream*((v-c*u)/na))
		addGrad(db, i, upstream*((u-c*v)/nb))
	}
}

// sign is -1, 0, 1 or NaN.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func addGrad(to []float64, i int, g float64) {
	if to != nil {
		to[i] += g
	}
}

func addGradPair(da, db []float64, i int, g float64) {
	addGrad(da, i, g)
	addGrad(db, i, -g)
}
