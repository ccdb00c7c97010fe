package metric

import "math"

// Value returns R(t) of BRM Table 1 for t >= 0. omega matters for ISRU only and
// is positive there. Every t from the smallest subnormal to +Inf gives a finite
// value in [0, Bound(omega)]; small t keep their relative precision.
func (r Restriction) Value(t, omega float64) float64 {
	switch r {
	case Sigmoid:
		// 2/(1+e^-t) - 1 cancels at small t; tanh(t/2) is the same and does not.
		return math.Tanh(t / 2)
	case SoftSign:
		if t > 1 {
			return 1 / (1 + 1/t)
		}
		return t / (1 + t)
	case ArcTan:
		return math.Atan(t)
	case TanH:
		return math.Tanh(t)
	case ISRU:
		s := math.Sqrt(omega)
		if s*t > 1 { // omega*t^2 may overflow, 1/t may not
			return 1 / math.Hypot(1/t, s)
		}
		return t / math.Sqrt(1+s*t*s*t)
	}
	return math.NaN()
}

// Slope returns the derivative R'(t) for t >= 0, in [0, 1]. It is never NaN for
// a number t; where R is saturated it may underflow to 0.
func (r Restriction) Slope(t, omega float64) float64 {
	switch r {
	case Sigmoid:
		return 2 * logistic(t)
	case SoftSign:
		return 1 / ((1 + t) * (1 + t))
	case ArcTan:
		return 1 / (1 + t*t)
	case TanH:
		return 4 * logistic(2*t)
	case ISRU:
		u := math.Sqrt(omega) * t
		if u > 1 {
			v := 1 / u
			w := v / math.Sqrt(1+v*v)
			return w * w * w
		}
		w := 1 / math.Sqrt(1+u*u)
		return w * w * w
	}
	return math.NaN()
}

// logistic is e^-t/(1+e^-t)^2, the derivative of 1/(1+e^-t), without the
// cancellation of 1 - R^2.
func logistic(t float64) float64 {
	e := math.Exp(-t)
	return e / ((1 + e) * (1 + e))
}

// Bound returns the supremum B of R (BRM Table 1): pi/2 for ArcTan,
// 1/sqrt(omega) for ISRU, 1 for the others.
func (r Restriction) Bound(omega float64) float64 {
	switch r {
	case ArcTan:
		return math.Pi / 2
	case ISRU:
		return 1 / math.Sqrt(omega)
	}
	return 1
}
