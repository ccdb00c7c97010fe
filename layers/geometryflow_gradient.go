package layers

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// gradient returns the derivative of a loss by the Gram matrices (C, N, N), from
// that by the matrix of Eq. 14, (N, N): what FlowSpec.Full adds to the paper,
// where the weights are constants. It takes what is discrete as it stands: who is
// whose neighbor, how many principal vectors there are, which two of them are
// closest. Where the angle is 0 it has a kink, and counts as constant.
func (f *flow) gradient(grams, dm []float32) []float32 {
	n := f.n
	sum := make([]float64, f.channels*n*n)
	if w := f.weights(grams); w.distance != nil {
		dAngle, dDistance := f.pairGradients(w, f.weightGradients(w, dm))
		shared := f.distanceGradients(w, dDistance)
		var h neighborhoods
		if f.spec.Curvature {
			h = f.neighborhoods(w.near)
		}
		f.channelBlocks(func(_, c int) {
			to := sum[c*n*n : (c+1)*n*n]
			copy(to, shared)
			if f.spec.Curvature {
				f.addAngleGradients(to, grams[c*n*n:(c+1)*n*n], h, w.pairs, dAngle)
			}
		})
	}
	out := make([]float32, len(sum))
	for i, v := range sum {
		out[i] = float32(v)
	}
	return out
}

// weightGradients returns the derivative by the weight of each pair:
// m_jl = lambda w_jl / D_j and m_jj = 1 / D_j with D_j = 1 + lambda sum of w_j.
func (f *flow) weightGradients(w flowWeights, dm []float32) []float64 {
	n, lambda := f.n, f.spec.Lambda
	divisor, mean := make([]float64, n), make([]float64, n)
	for j := range n {
		divisor[j] = f.total(w, j)
		mean[j] = float64(dm[j*n+j]) / divisor[j]
		for l := range n {
			mean[j] += lambda * w.matrix[j*n+l] / divisor[j] * float64(dm[j*n+l])
		}
	}
	d := make([]float64, len(w.pairs))
	for k, p := range w.pairs {
		d[k] = lambda * ((float64(dm[p.j*n+p.l])-mean[p.j])/divisor[p.j] + (float64(dm[p.l*n+p.j])-mean[p.l])/divisor[p.l])
	}
	return d
}

// pairGradients continues to the angle of each pair and what divides it, w = 1 -
// eps angle / divisor.
func (f *flow) pairGradients(w flowWeights, dw []float64) (dAngle, dDivisor []float64) {
	dAngle, dDivisor = make([]float64, len(dw)), make([]float64, len(dw))
	eps := f.spec.eps(f.channels)
	for k, p := range w.pairs {
		d := f.divisor(w, p)
		ended := !f.spec.Negative && w.matrix[p.j*f.n+p.l] == 0
		if d > 0 && w.angles[k] > 0 && !ended {
			dAngle[k], dDivisor[k] = -eps*dw[k]/d, eps*dw[k]*w.angles[k]/(d*d)
		}
	}
	return dAngle, dDivisor
}

// distanceGradients continues from the divisors to the Gram matrices, which are all
// alike for a distance: its square is the sum over them of g_jj + g_ll - 2 g_jl.
func (f *flow) distanceGradients(w flowWeights, dDivisor []float64) []float64 {
	n := f.n
	d := make([]float64, n*n) // by the distances, at (l, j) with j < l
	dUnit := 0.0
	for k, p := range w.pairs {
		if f.spec.Raw || w.unit == 0 {
			d[p.l*n+p.j] += dDivisor[k]
			continue
		}
		d[p.l*n+p.j] += dDivisor[k] / w.unit
		dUnit -= dDivisor[k] * w.distance[p.l*n+p.j] / (w.unit * w.unit)
	}
	top := true
	for l := range n {
		for j := range l {
			switch f.spec.Distance {
			case FlowMean:
				d[l*n+j] += dUnit / float64(n*(n-1)/2)
			case FlowMax:
				if top && w.distance[l*n+j] == w.unit {
					d[l*n+j] += dUnit
					top = false
				}
			}
		}
	}
	g := make([]float64, n*n)
	for l := range n {
		for j := range l {
			if w.distance[l*n+j] == 0 {
				continue
			}
			square := d[l*n+j] / (2 * w.distance[l*n+j])
			g[j*n+j] += square
			g[l*n+l] += square
			g[j*n+l] -= square
			g[l*n+j] -= square
		}
	}
	return g
}

// flatProduct is the product of two directions from which on their angle counts
// as 0.
const flatProduct = 1 - 1e-6

// addAngleGradients adds what the angles of one channel give to its Gram matrix.
// The product a' G b of two directions depends on G itself, and through the
// directions, which are eigenvectors.
func (f *flow) addAngleGradients(to []float64, gram []float32, h neighborhoods, pairs []pair, dAngle []float64) {
	n := f.n
	tangents := f.tangents(gram, h)
	by := make([][][]float64, len(tangents)) // derivatives by the weights of directions
	for s, t := range tangents {
		by[s] = make([][]float64, len(t.directions))
		for i := range by[s] {
			by[s][i] = make([]float64, len(t.set))
		}
	}
	for k, p := range pairs {
		s, r := h.of[p.j], h.of[p.l]
		if s == r || dAngle[k] == 0 || len(tangents[s].directions) == 0 || len(tangents[r].directions) == 0 {
			continue
		}
		i, j, product := closest(tangents[s], tangents[r])
		if math.Abs(product) >= flatProduct {
			continue
		}
		d := -math.Copysign(dAngle[k], dAngle[k]*product) / math.Sqrt(1-product*product)
		a, b := tangents[s].directions[i], tangents[r].directions[j]
		for x, item := range tangents[s].set {
			by[s][i][x] += d * b.image[item]
			for y, other := range tangents[r].set {
				to[item*n+other] += d * a.weights[x] * b.weights[y]
			}
		}
		for y, item := range tangents[r].set {
			by[r][j][y] += d * a.image[item]
		}
	}
	for s, t := range tangents {
		for i := range t.directions {
			t.addGradient(to, n, i, by[s][i])
		}
	}
}

// sameEigenvalue is the difference, in largest eigenvalues, below which two
// eigenvectors may turn into each other freely.
const sameEigenvalue = 1e-6

// addGradient continues from the weights of direction i, an eigenvector v of the
// centered Gram matrix divided by the root of its eigenvalue e, to the Gram
// matrix: dv = sum over the others u of u (u' dK v) / (e - e_u), de = v' dK v.
func (t tangent) addGradient(to []float64, n, i int, by []float64) {
	k := len(t.set)
	column := k - 1 - i
	e := t.values[column]
	v := mat.Col(nil, column, t.vectors)
	left := make([]float64, k) // dK = left v'
	for u := range k {
		vector := mat.Col(nil, u, t.vectors)
		product := 0.0
		for r, x := range vector {
			product += x * by[r] / math.Sqrt(e)
		}
		factor := -product / (2 * e) // of v itself, through its eigenvalue
		if u != column {
			if math.Abs(e-t.values[u]) < sameEigenvalue*t.values[k-1] {
				continue
			}
			factor = product / (e - t.values[u])
		}
		for r, x := range vector {
			left[r] += factor * x
		}
	}
	// Centering takes the means off both factors; that of v is 0.
	mean := 0.0
	for _, x := range left {
		mean += x / float64(k)
	}
	for r, item := range t.set {
		for c, other := range t.set {
			to[item*n+other] += (left[r] - mean) * v[c]
		}
	}
}
