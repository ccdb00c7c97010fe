package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/internal/approx"
)

func layerNorm(y, x, gamma, beta []float32, center, scale, shift float32) {
	x, gamma, beta = x[:len(y)], gamma[:len(y)], beta[:len(y)]
	for i, v := range x {
		y[i] = ((v-center)*scale+shift)*gamma[i] + beta[i]
	}
}

func layerNormSums(dy, x, gamma []float32, center float32) (total, along float64) {
	m := float64(center)
	x, gamma = x[:len(dy)], gamma[:len(dy)]
	for i, g := range dy {
		s := float64(g) * float64(gamma[i])
		total += s
		along += s * (float64(x[i]) - m)
	}
	return total, along
}

func layerNormGrad(dx, dy, x, gamma []float32, a, b, center, c float32) {
	dy, x, gamma = dy[:len(dx)], x[:len(dx)], gamma[:len(dx)]
	for i, g := range dy {
		dx[i] = a*(g*gamma[i]) + (b*(x[i]-center) + c)
	}
}

func normSums(gain, shift, dy, x []float32, center, scale float32) {
	shift, dy, x = shift[:len(gain)], dy[:len(gain)], x[:len(gain)]
	for i, g := range dy {
		gain[i] += g * ((x[i] - center) * scale)
		shift[i] += g
	}
}

// normalTail returns Phi(-|x|) and e^(-x^2/2).
func normalTail(x float32) (tail, exp float32) {
	z := distance(x, 0, approx.FarNormal)
	exp = fall(z * z * 0.5)
	p, c := approx.NormalTail()
	t := 1 / (1 + p*z)
	v := c[7]
	for i := 6; i >= 0; i-- {
		v = v*t + c[i]
	}
	return exp * (v * t), exp
}

// fall returns e^-t for t >= 0, 0 beyond approx.FarExp. NaN stays NaN.
func fall(t float32) float32 {
	if t > approx.FarExp {
		return 0
	}
	e, _ := decay(t)
	return e
}

// share returns Phi(x) from Phi(-|x|).
func share(x, tail float32) float32 {
	if x > 0 {
		return 1 - tail
	}
	return tail
}

func gelu(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		tail, _ := normalTail(v)
		y[i] = v * share(v, tail)
	}
}

func geluGrad(dx, dy, x []float32) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	const density = 0.3989422804014327 // 1/sqrt(2 pi)
	for i, v := range x {
		tail, e := normalTail(v)
		dx[i] = dy[i] * (share(v, tail) + v*(e*density))
	}
}

// quick is the slope at which GELUQuick's logistic function begins.
const quick = 1.702

// logistic returns 1/(1 + e^-quick|x|), and e^-quick|x|.
func logistic(x float32) (share, exp float32) {
	exp = fall(quick * distance(x, 0, approx.FarExp))
	return 1 / (1 + exp), exp
}

func geluQuick(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		share, e := logistic(v)
		if !(v > 0) {
			share *= e
		}
		y[i] = v * share
	}
}

func geluQuickGrad(dx, dy, x []float32) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	for i, v := range x {
		share, e := logistic(v)
		slope := share * (share * e) * quick
		if !(v > 0) {
			share *= e
		}
		dx[i] = dy[i] * (share + v*slope)
	}
}

// geluTanh and geluTanhGrad are the form, which no published network here
// uses: they have no vector twins.
func geluTanh(y, x []float32) {
	for i, v := range x {
		_, t := tanhForm(float64(v))
		y[i] = float32(float64(v) * (1 + t) / 2)
	}
}

func geluTanhGrad(dx, dy, x []float32) {
	for i, v := range x {
		slope, t := tanhForm(float64(v))
		dx[i] = float32(float64(dy[i]) * ((1+t)/2 + float64(v)*(1-t*t)/2*slope))
	}
}

// tanhForm returns tanh(u) and the slope of u = sqrt(2/pi) (x + 0.044715 x^3).
func tanhForm(x float64) (slope, tanh float64) {
	const root, cubic = 0.7978845608028654, 0.044715
	return root * (1 + 3*cubic*x*x), math.Tanh(root * (x + cubic*x*x*x))
}

func largest(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func expRow(y, x []float32, scale, most float32) float64 {
	x = x[:len(y)]
	total := 0.0
	for i, v := range x {
		e := fall(scale * (most - v))
		y[i] = e
		total += float64(e)
	}
	return total
}

func softmaxGrad(dx, dy, y []float32, along, scale float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	for i, v := range y {
		dx[i] = v * ((dy[i] - along) * scale)
	}
}
