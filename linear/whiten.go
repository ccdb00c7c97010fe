package linear

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// whitening returns W (d, r) with W^T A W = I, r the rank of A, whose columns span
// the range of A. The rank is that of A scaled to a diagonal of ones, so that the
// units of columns do not decide which directions count. It is nil for A = 0.
func whitening(a *mat.SymDense) (*mat.Dense, error) {
	d := a.SymmetricDim()
	scale := make([]float64, d)
	for i := range scale {
		if v := a.At(i, i); v > 0 {
			scale[i] = 1 / math.Sqrt(v)
		}
	}
	even := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			even.SetSym(i, j, a.At(i, j)*scale[i]*scale[j])
		}
	}
	e, err := eigenOf(even)
	if err != nil {
		return nil, err
	}
	r := e.rank()
	if r == 0 {
		return nil, nil
	}
	w := e.whitener(r)
	for i, s := range scale {
		for j := range r {
			w.Set(i, j, s*w.At(i, j))
		}
	}
	if r < d {
		dropNull(w, e.vectors.Slice(0, d, r, d), scale)
	}
	return w, nil
}

// dropNull takes from the columns of w what lies in the null space of A: the span
// of the scaled null vectors, and of columns whose diagonal is 0.
func dropNull(w *mat.Dense, null mat.Matrix, scale []float64) {
	d, k := null.Dims()
	n := mat.NewDense(d, k, nil)
	for i, s := range scale {
		if s == 0 {
			s = 1 // a column of zeros is its own null vector
		}
		for j := range k {
			n.Set(i, j, s*null.At(i, j))
		}
	}
	var qr mat.QR
	qr.Factorize(n)
	var q mat.Dense
	qr.QTo(&q)
	basis := q.Slice(0, d, 0, k)
	var part, off mat.Dense
	part.Mul(basis.T(), w)
	off.Mul(basis, &part)
	w.Sub(w, &off)
}
