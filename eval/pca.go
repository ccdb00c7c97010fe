package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Projection is a set of points in few dimensions.
type Projection struct {
	N, K int
	X    []float64 // (N, K), row-major
	// Explained is the share of the variance along each axis; nil if that means
	// nothing.
	Explained []float64
}

// PCA projects rows onto the k directions of largest variance (principal
// component analysis), from the eigenvectors of the covariance or, with fewer
// rows than coordinates, of the Gram matrix. Axes have the sign that makes the
// largest of the absolute coordinates of its direction positive; an axis
// without variance is all zeros. This takes a third to a half of the time of gonum's
// stat.PC, which decomposes the rows themselves (BenchmarkPCA).
func PCA(e *Embeddings, k int) (*Projection, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if k < 1 || k > e.H {
		return nil, fmt.Errorf("eval: %d principal components of %d coordinates: want 1 to %d", k, e.H, e.H)
	}
	x := centered(e)
	var small mat.SymDense
	wide := e.N < e.H
	if wide {
		small.SymOuterK(1, x)
	} else {
		small.SymOuterK(1, x.T())
	}
	var eig mat.EigenSym
	if !eig.Factorize(&small, true) {
		return nil, fmt.Errorf("eval: the principal components of %d x %d numbers were not found", e.N, e.H)
	}
	values := eig.Values(nil) // ascending
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	total := mat.Trace(&small)
	p := &Projection{N: e.N, K: k, X: make([]float64, e.N*k), Explained: make([]float64, k)}
	for j := range min(k, len(values)) {
		c := len(values) - 1 - j
		const none = 1e-12 // of the whole variance: rounding
		if !(values[c] > none*total) {
			continue
		}
		p.Explained[j] = values[c] / total
		direction := vectors.ColView(c)
		if wide {
			var d mat.VecDense
			d.MulVec(x.T(), direction)
			d.ScaleVec(1/math.Sqrt(values[c]), &d)
			direction = &d
		}
		var at mat.VecDense
		at.MulVec(x, direction)
		sign := largestSign(direction)
		for i := range e.N {
			p.X[i*k+j] = sign * at.AtVec(i)
		}
	}
	return p, nil
}

// centered is the rows minus their mean.
func centered(e *Embeddings) *mat.Dense {
	mean := make([]float64, e.H)
	for i := range e.N {
		for j, v := range e.Row(i) {
			mean[j] += float64(v) / float64(e.N)
		}
	}
	x := mat.NewDense(e.N, e.H, nil)
	for i := range e.N {
		for j, v := range e.Row(i) {
			x.Set(i, j, float64(v)-mean[j])
		}
	}
	return x
}

func largestSign(v mat.Vector) float64 {
	largest := 0.0
	for i := range v.Len() {
		if x := v.AtVec(i); math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	return math.Copysign(1, largest)
}
