package cpu

import "math"

func add(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func maximum(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

func add3(dst, a, b, c []float32) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i] + c[i]
	}
}

func maximum3(dst, a, b, c []float32) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i], c[i])
	}
}

func multiply(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func scale(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = s * a[i]
	}
}

func relu(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		if v < 0 {
			v = 0
		}
		y[i] = v
	}
}

func reluGrad(dx, dy, y []float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	for i, v := range y {
		g := dy[i]
		if !(v > 0) {
			g = 0
		}
		dx[i] = g
	}
}

func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// bound keeps NaN.
func bound(v, ceiling float32) float32 {
	switch {
	case ceiling == 0:
	case v < 0:
		return 0
	case v > ceiling:
		return ceiling
	}
	return v
}

func boundGrad(dx, dy, y []float32, ceiling float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	for i := range dx {
		if y[i] > 0 && y[i] < ceiling {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

func affine(y, x, residual []float32, center, scale, shift, ceiling float32) {
	x = x[:len(y)]
	for i, v := range x {
		v = (v-center)*scale + shift
		if residual != nil {
			v += residual[i]
		}
		y[i] = bound(v, ceiling)
	}
}

func sum(x []float32) float64 {
	var s [4]float64
	for ; len(x) >= 4; x = x[4:] {
		s[0] += float64(x[0])
		s[1] += float64(x[1])
		s[2] += float64(x[2])
		s[3] += float64(x[3])
	}
	for i, v := range x {
		s[i] += float64(v)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func spread(x []float32, center float32) float64 {
	m := float64(center)
	var s0, s1 float64
	for ; len(x) >= 2; x = x[2:] {
		u, v := float64(x[0])-m, float64(x[1])-m
		s0 += u * u
		s1 += v * v
	}
	for _, v := range x {
		u := float64(v) - m
		s0 += u * u
	}
	return s0 + s1
}

func project(y, x []float32, center float32) float64 {
	m := float64(center)
	x = x[:len(y)]
	s := 0.0
	for i, g := range y {
		s += float64(g) * (float64(x[i]) - m)
	}
	return s
}

func normGrad(dx, dy, x []float32, a, b, center, c float32) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	for i, g := range dy {
		dx[i] = a*g + b*(x[i]-center) + c
	}
}

// sgdStep and adamWStep are the numbers of layers.SGDSpec and layers.AdamWSpec
// for one slot.
type sgdStep struct {
	rate, decay, momentum float32
	nesterov              bool
}

type adamWStep struct {
	keep          float32 // 1 - rate*decay
	beta1, gain1  float32 // beta1 and 1-beta1
	beta2, gain2  float32
	rate, unbias2 float32 // rate/(1-beta1^step), 1/(1-beta2^step)
	eps           float32
}

// sgd steps w along g. v is nil without momentum.
func sgd(w, g, v []float32, s sgdStep) {
	g = g[:len(w)]
	for i, p := range w {
		d := g[i] + s.decay*p
		if v != nil {
			m := s.momentum*v[i] + d
			v[i] = m
			if s.nesterov {
				d += s.momentum * m
			} else {
				d = m
			}
		}
		w[i] = p - s.rate*d
	}
}

func adamW(w, g, m, v []float32, s adamWStep) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i, p := range w {
		d := g[i]
		a := s.beta1*m[i] + s.gain1*d
		b := s.beta2*v[i] + s.gain2*(d*d)
		m[i], v[i] = a, b
		w[i] = p*s.keep - s.rate*(a/(float32(math.Sqrt(float64(b*s.unbias2)))+s.eps))
	}
}

func route(dx, left, x, y []float32) {
	left, x, y = left[:len(dx)], x[:len(dx)], y[:len(dx)]
	for i, v := range x {
		if v >= y[i] {
			dx[i] += left[i]
			left[i] = 0
		}
	}
}

func split(even, odd, x []float32) {
	for i := range len(x) / 2 {
		even[i], odd[i] = x[2*i], x[2*i+1]
	}
	if n := len(x); n%2 == 1 {
		even[n/2] = x[n-1]
	}
}

func merge(x, even, odd []float32) {
	for i := range len(x) / 2 {
		x[2*i], x[2*i+1] = even[i], odd[i]
	}
	if n := len(x); n%2 == 1 {
		x[n-1] = even[n/2]
	}
}
