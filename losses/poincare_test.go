package losses

import "math"

// poincare is the Poincare ball of curvature -c with Euclidean embeddings mapped
// into it, without the guards of 1e-5 that the peer adds; c = 0 means cosines of
// unit rows.
type poincare struct{ c, clip float64 }

// embed maps rows u into the ball, z = tanh(sqrt(c)|u|) u/(sqrt(c)|u|) after a clip to length clip, and
// keeps them 1e-3 from the rim. back turns a gradient of z into one of u.
func (b poincare) embed(u rowsOf) (z rowsOf, back func(dz rowsOf) rowsOf) {
	if b.c == 0 {
		return u.normalized(), u.normalizedGrad
	}
	z = u.like()
	k := math.Sqrt(b.c)
	for i := range u.n {
		r, _ := b.radius(length(u.row(i)), k)
		for d, v := range u.row(i) {
			z.row(i)[d] = v * r / length(u.row(i))
		}
	}
	return z, func(dz rowsOf) rowsOf {
		du := u.like()
		for i := range u.n {
			n := length(u.row(i))
			r, slope := b.radius(n, k)
			along := 0.0
			for d, v := range u.row(i) {
				along += v / n * dz.row(i)[d]
			}
			for d, v := range u.row(i) { // z = r(n) u/n
				du.row(i)[d] = r/n*(dz.row(i)[d]-along*v/n) + slope*along*v/n
			}
		}
		return du
	}
}

// radius returns |z| for |u| = n and its derivative.
func (b poincare) radius(n, k float64) (r, slope float64) {
	slope = 1
	if b.clip > 0 && n > b.clip {
		n, slope = b.clip, 0
	}
	t := math.Tanh(k * n)
	r, slope = t/k, slope*(1-t*t)
	if most := (1 - 1e-3) / k; r > most {
		return most, 0
	}
	return r, slope
}

// value is the distance acosh(1 + 2c|x-y|^2/((1-c|x|^2)(1-c|y|^2)))/sqrt(c), or
// for c = 0 the dot product.
func (b poincare) value(x, y []float64) float64 {
	if b.c == 0 {
		return dot.Value64(x, y)
	}
	return math.Acosh(1+2*b.c*squared.Value64(x, y)/(b.gap(x)*b.gap(y))) / math.Sqrt(b.c)
}

func (b poincare) gap(x []float64) float64 { return 1 - b.c*dot.Value64(x, x) }

// gradient adds g times the derivatives of value.
func (b poincare) gradient(dx, dy, x, y []float64, g float64) {
	if b.c == 0 {
		dot.Gradient(dx, dy, x, y, g)
		return
	}
	square, gx, gy := squared.Value64(x, y), b.gap(x), b.gap(y)
	a := 1 + 2*b.c*square/(gx*gy)
	if a <= 1 {
		return
	}
	g *= 2 * b.c / (math.Sqrt(b.c) * math.Sqrt(a*a-1) * gx * gy)
	squared.Gradient(dx, dy, x, y, g)
	for d := range x {
		dx[d] += g * square * 2 * b.c * x[d] / gx
		dy[d] += g * square * 2 * b.c * y[d] / gy
	}
}
