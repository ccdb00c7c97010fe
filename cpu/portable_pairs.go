package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/internal/approx"
	"github.com/vernier-ml/vernier/metric"
)

// curveFunc returns V(t) and S(t), see curveArgs, for 0 <= t <= r.limit.
type curveFunc func(t float32, r curveArgs) (value, slope float32)

func portablePairs() (p [curves][2]pairKernels) {
	fs := [curves]curveFunc{
		metric.Sigmoid: sigmoid, metric.SoftSign: softSign, metric.ArcTan: arcTan, metric.TanH: tanH, metric.ISRU: isru,
		identity: func(t float32, _ curveArgs) (float32, float32) { return t, 1 + 0*t }, // NaN stays
	}
	for i, f := range fs {
		p[i] = [2]pairKernels{{sums: sumsOf(f, 1), grad: gradOf(f, 1)}, {sums: sumsOf(f, 2), grad: gradOf(f, 2)}}
	}
	return p
}

// distance returns |a - b|, at most limit; NaN stays NaN.
func distance(a, b, limit float32) float32 {
	t := a - b
	if t < 0 {
		t = -t
	}
	if t > limit {
		t = limit
	}
	return t
}

func sumsOf(f curveFunc, p int) func(s, a, b []float32, ldb int, r curveArgs) {
	return func(s, a, b []float32, ldb int, r curveArgs) {
		for j := range s {
			// Sixteen sums, as a vector has, keep rounding as small as there.
			var total [16]float32
			for c, x := range b[j*ldb:][:len(a)] {
				v, _ := f(distance(a[c], x, r.limit), r)
				if p == 2 {
					v *= v
				}
				total[c%16] += v
			}
			for n := 8; n > 0; n /= 2 {
				for l := range n {
					total[l] += total[l+n]
				}
			}
			s[j] = total[0]
		}
	}
}

func gradOf(f curveFunc, p int) func(da, db, a, b, coef []float32, r curveArgs) {
	return func(da, db, a, b, coef []float32, r curveArgs) {
		n := len(a)
		for j, k := range coef {
			for c, x := range b[j*n : (j+1)*n] {
				d := a[c] - x
				if d == 0 {
					continue
				}
				v, slope := f(distance(a[c], x, r.limit), r)
				if p == 2 {
					slope *= v
				}
				if d < 0 {
					slope = -slope
				}
				da[c] += k * slope
				db[j*n+c] -= k * slope
			}
		}
	}
}

// decay returns e^-t and e^-t - 1 for 0 <= t <= approx.FarExp, both with their
// relative precision. With n = round(t/ln 2), e^-t = 2^-n e^r.
func decay(t float32) (exp, less1 float32) {
	n := float32(math.RoundToEven(float64(t) * approx.Log2E))
	r := float32(float64(n)*approx.Ln2 - float64(t))
	p := approx.ExpTail()
	q := r + r*r*(p[0]+r*(p[1]+r*(p[2]+r*p[3])))
	s := math.Float32frombits(0x3f800000 - uint32(int32(n))<<23)
	if t != t {
		s = t
	}
	return s + s*q, s*q + (s - 1)
}

// sigmoid is R(t) = (1-e^-t)/(1+e^-t), R'/2 = e^-t/(1+e^-t)^2.
func sigmoid(t float32, _ curveArgs) (value, slope float32) {
	e, less1 := decay(t)
	w := 1 / (2 + less1)
	return -less1 * w, e * w * w
}

// tanH(t) is sigmoid(2t), and its derivative four times the second of that.
func tanH(t float32, r curveArgs) (value, slope float32) { return sigmoid(2*t, r) }

func softSign(t float32, _ curveArgs) (value, slope float32) {
	w := 1 / (1 + t)
	return t * w, w * w
}

// arcTan is z P(z^2) for z = t up to 1, and pi/2 minus that of z = 1/t beyond.
func arcTan(t float32, _ curveArgs) (value, slope float32) {
	z := t
	if t > 1 {
		z = 1 / t
	}
	u, p := z*z, approx.ArcTan()
	v := p[7]
	for i := 6; i >= 0; i-- {
		v = v*u + p[i]
	}
	v *= z
	if t > 1 {
		v = math.Pi/2 - v
	}
	return v, 1 / (1 + t*t)
}

// isru is sqrt(omega) R(t), which does not overflow: with u = sqrt(omega) t it is
// u/sqrt(1+u^2).
func isru(t float32, r curveArgs) (value, slope float32) {
	u := r.root * t
	w := float32(1 / math.Sqrt(float64(1+u*u)))
	return u * w, w * w * w
}
