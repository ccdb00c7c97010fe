package linear

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// rankTolerance is the share of the largest eigenvalue below which an
// eigenvalue of a scatter matrix counts as 0: well above what rounding leaves
// of a collinear column, well below any direction that carries information.
const rankTolerance = 1e-10

// eigen is the decomposition of a symmetric matrix, eigenvalues descending.
type eigen struct {
	values  []float64
	vectors *mat.Dense // (d, d), columns
}

func eigenOf(a mat.Symmetric) (eigen, error) {
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return eigen{}, fmt.Errorf("the eigenvalues of a %dx%d matrix did not converge: does it hold NaN or infinity?", a.SymmetricDim(), a.SymmetricDim())
	}
	values := e.Values(nil) // ascending
	var v mat.Dense
	e.VectorsTo(&v)
	n := len(values)
	out := mat.NewDense(n, n, nil)
	for j := range n {
		for i := range n {
			out.Set(i, j, v.At(i, n-1-j))
		}
	}
	slices.Reverse(values)
	return eigen{values, out}, nil
}

// rank counts the eigenvalues above the tolerance.
func (e eigen) rank() int {
	r := 0
	for _, v := range e.values {
		if v > rankTolerance*e.values[0] && v > 0 {
			r++
		}
	}
	return r
}

// apply returns V f(values) V^T over the first r eigenvectors.
func (e eigen) apply(r int, f func(float64) float64) *mat.SymDense {
	d := len(e.values)
	scaled := mat.NewDense(d, r, nil)
	for j := range r {
		s := f(e.values[j])
		for i := range d {
			scaled.Set(i, j, s*e.vectors.At(i, j))
		}
	}
	var out mat.Dense
	out.Mul(scaled, e.vectors.Slice(0, d, 0, r).T())
	return symmetrized(&out)
}

// whitener returns W (d, r) with W^T A W = I, r the rank of A: its columns are
// eigenvectors over the root of their eigenvalues.
func (e eigen) whitener(r int) *mat.Dense {
	d := len(e.values)
	w := mat.NewDense(d, r, nil)
	for j := range r {
		s := 1 / math.Sqrt(e.values[j])
		for i := range d {
			w.Set(i, j, s*e.vectors.At(i, j))
		}
	}
	return w
}

// generalized solves A v = mu B v on the range of B. The columns of the result
// are v with v^T B v = 1, mu descending; their number is the rank of B.
func generalized(a, b *mat.SymDense) (mu []float64, v *mat.Dense, err error) {
	eb, err := eigenOf(b)
	if err != nil {
		return nil, nil, err
	}
	r := eb.rank()
	if r == 0 {
		return nil, nil, fmt.Errorf("the scatter to divide by is zero")
	}
	w := eb.whitener(r)
	ea, err := eigenOf(congruent(w, a))
	if err != nil {
		return nil, nil, err
	}
	v = mat.NewDense(len(eb.values), r, nil)
	v.Mul(w, ea.vectors)
	return ea.values, v, nil
}

// congruent returns w^T a w.
func congruent(w *mat.Dense, a mat.Symmetric) *mat.SymDense {
	var aw, out mat.Dense
	aw.Mul(a, w)
	out.Mul(w.T(), &aw)
	return symmetrized(&out)
}

// factorOf returns L with L^T L = M for a positive semidefinite M, rows by
// descending eigenvalue; eigenvalues that rounding made negative count as 0.
func factorOf(m mat.Symmetric) (*mat.Dense, error) {
	e, err := eigenOf(m)
	if err != nil {
		return nil, err
	}
	return e.factor(), nil
}

func (e eigen) factor() *mat.Dense {
	d := len(e.values)
	l := mat.NewDense(d, d, nil)
	for i := range d {
		s := math.Sqrt(max(e.values[i], 0))
		for j := range d {
			l.Set(i, j, s*e.vectors.At(j, i))
		}
	}
	return l
}

// fixSigns makes the entry of largest magnitude of each row positive, so that
// the factor of a metric is the same on every machine.
func fixSigns(l *mat.Dense) {
	rows, _ := l.Dims()
	for i := range rows {
		row := l.RawRowView(i)
		big := 0.0
		for _, v := range row {
			if math.Abs(v) > math.Abs(big)*(1+1e-12) {
				big = v
			}
		}
		if big < 0 {
			for j := range row {
				row[j] = -row[j]
			}
		}
	}
}

// gram returns L^T L.
func gram(l *mat.Dense) *mat.SymDense {
	_, d := l.Dims()
	m := mat.NewSymDense(d, nil)
	m.SymOuterK(1, l.T())
	return m
}

func symmetrized(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}

func addIdentity(a *mat.SymDense, lambda float64) {
	for i := range a.SymmetricDim() {
		a.SetSym(i, i, a.At(i, i)+lambda)
	}
}

func identity(rows, d int) *mat.Dense {
	l := mat.NewDense(rows, d, nil)
	for i := range min(rows, d) {
		l.Set(i, i, 1)
	}
	return l
}

// subSym sets dst = a - b; dst may be either.
func subSym(dst, a, b *mat.SymDense) {
	for i := range a.SymmetricDim() {
		for j := i; j < a.SymmetricDim(); j++ {
			dst.SetSym(i, j, a.At(i, j)-b.At(i, j))
		}
	}
}

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
