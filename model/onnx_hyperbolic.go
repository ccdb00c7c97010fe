package model

import (
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// farOut is the mean radius, in units of the curvature, beyond which the side of
// a triangle is computed by logarithms: squares of hyperbolic sines would leave
// float32.
const farOut = 10

// hyperbolic is the distance between points of which directions b (m, h) and row
// (h) and radii beta (m) and alpha (1) are known, by the law of cosines:
//
//	sinh^2(half) = sinh^2((alpha-beta)/2) + sinh(alpha) sinh(beta) t^2
//
// with t the sine of half the angle at the origin, and 2 half/sqrt(c) the distance.
func (w *onnxWriter) hyperbolic(b, row, beta, alpha string, m metric.Metric) {
	binary := func(name, op, x, y string) string { return w.node(name, op, []string{x, y}, nil) }
	unary := func(name, op, x string) string { return w.node(name, op, []string{x}, nil) }
	scale := func(name, x string, by float64) string { return binary(name, "Mul", x, w.number(by)) }

	chord := w.node("chord", "ReduceL2", []string{binary("difference", "Sub", b, row)}, alongRows())
	t := scale("t", chord, .5)
	t2 := binary("t2", "Mul", t, t)
	apart := binary("apart", "Sub", alpha, beta)

	radial := unary("radial", "Sinh", scale("apart/half", apart, .5))
	across := binary("sines", "Mul", unary("sinh_alpha", "Sinh", alpha), unary("sinh_beta", "Sinh", beta))
	sum := binary("sinh2", "Add", binary("radial2", "Mul", radial, radial), binary("across", "Mul", across, t2))
	half := unary("near", "Asinh", unary("sinh", "Sqrt", sum))

	if math.Sqrt(m.Curvature)*m.Bound()/2 > farOut {
		// With e^mean/2 taken out of sinh(half), what is left is
		// s^2 = (e^-min (1 - e^-|apart|))^2 + (1 - e^-2alpha)(1 - e^-2beta) t^2
		// and half = mean + log(s/2 + sqrt(s^2/4 + e^-2mean)).
		less := func(name, x string) string { // 1 - e^x
			return binary(name, "Sub", w.number(1), unary(name+"/exp", "Exp", x))
		}
		mean := scale("mean", binary("both", "Add", alpha, beta), .5)
		nearer := unary("nearer", "Exp", unary("inward", "Neg", binary("min", "Min", alpha, beta)))
		x := binary("far/radial", "Mul", nearer, less("far/gap", unary("gap", "Neg", unary("gap/abs", "Abs", apart))))
		y2 := binary("far/ends", "Mul", less("far/alpha", scale("alpha/double", alpha, -2)), less("far/beta", scale("beta/double", beta, -2)))
		s2 := binary("far/s2", "Add", binary("far/radial2", "Mul", x, x), binary("far/across", "Mul", y2, t2))
		s := scale("far/s", unary("far/root", "Sqrt", s2), .5)
		under := binary("far/under", "Add", binary("far/quarter", "Mul", s, s), unary("far/rest", "Exp", scale("mean/double", mean, -2)))
		far := binary("far", "Add", mean, unary("far/log", "Log", binary("far/sum", "Add", s, unary("far/under/root", "Sqrt", under))))
		same := binary("far/same", "Equal", s2, w.number(0))
		far = w.node("far/value", "Where", []string{same, w.number(0), far}, nil)
		half = w.node("side", "Where", []string{binary("is_far", "Greater", mean, w.number(farOut)), far, half}, nil)
	}
	scale("value", half, 2/math.Sqrt(m.Curvature))
}
