package cpu

func polynomial(x, a, b, c float32) float32 { return (c*x+b)*x + a }

func quadratic(y, x []float32, a, b, c float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = polynomial(v, a, b, c)
	}
}

func columnExp(sums, x, most []float32) {
	x, most = x[:len(sums)], most[:len(sums)]
	for i, v := range x {
		sums[i] += fall(most[i] - v)
	}
}

func columnGrad(dx, x, most, share []float32, a, b, c float32) {
	x, most, share = x[:len(dx)], most[:len(dx)], share[:len(dx)]
	for i, v := range x {
		dx[i] = fall(most[i]-polynomial(v, a, b, c)) * share[i] * (2*c*v + b)
	}
}
