package metric

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// rim keeps points of the ball away from its edge: sqrt(c)|z| <= 1 - rim.
const rim = 1e-3

const hyperbolicUsage = "c=NUMBER (the space has curvature -c), clip=NUMBER (0 for none); as in poincare:c=0.1,clip=2.3"

func (m Metric) hyperbolic() bool { return m.Kind == Poincare || m.Kind == Lorentz }

// defaultHyperbolic has, for Poincare, the constants of Ermolov et al. 2022.
func defaultHyperbolic(k Kind) Metric {
	if k == Poincare {
		return Metric{Kind: k, Curvature: 0.1, Clip: 2.3}
	}
	return Metric{Kind: k, Curvature: 1}
}

func (m Metric) validateHyperbolic() error {
	if !validOmega(m.Curvature) {
		return fmt.Errorf("metric %v: c is %v, want a positive finite number (the space has curvature -c)", m.Kind, m.Curvature)
	}
	if !(m.Clip >= 0) || math.IsInf(m.Clip, 1) {
		return fmt.Errorf("metric %v: clip is %v, want a length, or 0 for none", m.Kind, m.Clip)
	}
	return nil
}

func (m Metric) hyperbolicString() string {
	standard := defaultHyperbolic(m.Kind)
	var options []string
	if m.Curvature != standard.Curvature {
		options = append(options, "c="+strconv.FormatFloat(m.Curvature, 'g', -1, 64))
	}
	if m.Clip != standard.Clip {
		options = append(options, "clip="+strconv.FormatFloat(m.Clip, 'g', -1, 64))
	}
	if len(options) == 0 {
		return m.Kind.String()
	}
	return m.Kind.String() + ":" + strings.Join(options, ",")
}

// setHyperbolic reads c and clip, each at most once.
func (m *Metric) setHyperbolic(options string) error {
	seen := map[string]bool{}
	for option := range strings.SplitSeq(options, ",") {
		key, text, _ := strings.Cut(strings.TrimSpace(option), "=")
		if key != "c" && key != "clip" {
			return fmt.Errorf("unknown option %q, want %s", option, hyperbolicUsage)
		}
		if seen[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s is %q, want a number", key, text)
		}
		if key == "c" {
			m.Curvature = x
		} else {
			m.Clip = x
		}
	}
	return m.validateHyperbolic()
}

// Radii say how far from the origin of a hyperbolic space an embedding of length n
// lies: grow times n, and n counts for no more than most. That is 2n in the ball,
// n on the hyperboloid, within clip and rim.
func (m Metric) Radii() (bound, grow float64) {
	bound = math.Inf(1)
	if m.Clip > 0 {
		bound = m.Clip
	}
	if m.Kind == Lorentz {
		return bound, 1
	}
	return min(bound, math.Atanh(1-rim)/math.Sqrt(m.Curvature)), 2
}

// radius is that distance.
func (m Metric) radius(n float64) float64 {
	bound, grow := m.Radii()
	return grow * min(n, bound)
}

// moves is the derivative of radius, 0 beyond the clip or the rim.
func (m Metric) moves(n float64) float64 {
	switch {
	case m.radius(n) == m.radius(math.Inf(1)):
		return 0
	case m.Kind == Poincare:
		return 2
	}
	return 1
}

// farOut is the radius, in units of 1/sqrt(c), beyond which logarithms take the
// place of hyperbolic functions, which would overflow.
const farOut = 300

// triangle is that of two points and the origin. alpha and beta are the radii
// times sqrt(c), half is half the side across, times sqrt(c), and t the sine of
// half the angle at the origin. The law of cosines, written without cancellation:
//
//	sinh^2(half) = sinh^2((alpha-beta)/2) + sinh(alpha) sinh(beta) t^2
type triangle struct {
	alpha, beta, t, half float64
	flat                 bool    // the points and the origin are on a line, on one side
	far                  bool    // beyond farOut
	excess               float64 // alpha + beta - 2*half, where far
}

func (m Metric) triangle(chord, a, b float64) triangle {
	k := math.Sqrt(m.Curvature)
	// No side is longer than a number can be.
	s := triangle{alpha: min(k*m.radius(a), math.MaxFloat64/4), beta: min(k*m.radius(b), math.MaxFloat64/4), t: chord / 2}
	switch {
	case s.t == 0 || s.alpha == 0 || s.beta == 0:
		s.flat = true
		s.half = math.Abs(s.alpha-s.beta) / 2
	case max(s.alpha, s.beta) <= farOut:
		s.half = math.Asinh(math.Hypot(math.Sinh((s.alpha-s.beta)/2), math.Sqrt(math.Sinh(s.alpha))*math.Sqrt(math.Sinh(s.beta))*s.t))
	default:
		s.farSide()
	}
	return s
}

// farSide takes e^((alpha+beta)/2)/2 out of both terms of the law of cosines.
func (s *triangle) farSide() {
	s.far = true
	radial := log1mExp(math.Abs(s.alpha-s.beta)) - min(s.alpha, s.beta)
	across := math.Log(s.t) + (log1mExp(2*s.alpha)+log1mExp(2*s.beta))/2
	high, low := max(radial, across), min(radial, across)
	high += math.Log1p(math.Exp(2*(low-high))) / 2
	middle := s.alpha/2 + s.beta/2
	if middle+high > 20 {
		s.half, s.excess = middle+high, -2*high
		return
	}
	s.half = math.Asinh(math.Exp(middle+high) / 2)
	s.excess = s.alpha + s.beta - 2*s.half
}

// log1mExp is log(1 - e^-x) for x >= 0; of 0 it is -infinity.
func log1mExp(x float64) float64 {
	if x < 1 {
		return math.Log(-math.Expm1(-x))
	}
	return math.Log1p(-math.Exp(-x))
}

// hyperbolicSlopes differentiates the law of cosines: with y = 2*half,
//
//	sinh(y) dy/2 = sinh(alpha-beta)/2 (dalpha-dbeta) + t^2 (cosh(alpha) sinh(beta) dalpha
//		+ sinh(alpha) cosh(beta) dbeta) + sinh(alpha) sinh(beta) d(t^2)
//
// with d(t^2) = (w.dw)/2, w the difference of the directions.
func (m Metric) hyperbolicSlopes(chord, a, b, upstream float64) Slopes {
	s := m.triangle(chord, a, b)
	if s.half == 0 {
		return Slopes{}
	}
	k := math.Sqrt(m.Curvature)
	f := upstream * 2 / k
	growA, growB := k*m.moves(a), k*m.moves(b)
	var out Slopes
	if s.flat {
		sign := 1.0
		if s.alpha < s.beta {
			sign = -1
		}
		out.AlongA, out.AlongB = sign*f/2*growA, -sign*f/2*growB
		// At the origin, which has no direction, the distance falls towards the other.
		switch {
		case s.alpha == 0:
			out.ApartA = f / 2 * growA
		case s.beta == 0:
			out.ApartB = f / 2 * growB
		}
		return out
	}
	radial, product, mixA, mixB := s.ratios()
	t2 := s.t * s.t
	out.ApartA, out.ApartB = f/2*product/a, f/2*product/b
	out.AlongA = f*growA*(radial/2+t2*mixA) - 2*t2*out.ApartA
	out.AlongB = f*growB*(-radial/2+t2*mixB) - 2*t2*out.ApartB
	return out
}

// ratios are, over sinh(2 half): sinh(alpha-beta), sinh(alpha) sinh(beta),
// cosh(alpha) sinh(beta) and sinh(alpha) cosh(beta).
func (s *triangle) ratios() (radial, product, mixA, mixB float64) {
	if !s.far {
		y, sa, sb := math.Sinh(2*s.half), math.Sinh(s.alpha), math.Sinh(s.beta)
		return math.Sinh(s.alpha-s.beta) / y, sa * (sb / y), math.Cosh(s.alpha) * (sb / y), math.Cosh(s.beta) * (sa / y)
	}
	// sinh(x) = e^x (1 - e^-2x)/2.
	ends := log1mExp(4 * s.half)
	la, lb := log1mExp(2*s.alpha), log1mExp(2*s.beta)
	radial = math.Exp(s.excess - 2*min(s.alpha, s.beta) + log1mExp(2*math.Abs(s.alpha-s.beta)) - ends)
	if s.alpha < s.beta {
		radial = -radial
	}
	whole := s.excess - ends - math.Ln2
	product = math.Exp(whole + la + lb)
	mixA = math.Exp(whole + math.Log1p(math.Exp(-2*s.alpha)) + lb)
	mixB = math.Exp(whole + math.Log1p(math.Exp(-2*s.beta)) + la)
	return radial, product, mixA, mixB
}
