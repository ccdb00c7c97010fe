package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// Metrics as the golden files name them.
var (
	euclidean = metric.Metric{Kind: metric.Euclidean}
	squared   = metric.Metric{Kind: metric.SquaredEuclidean}
	dot       = metric.Metric{Kind: metric.Dot}
)

// rowsOf is a matrix of embeddings, (n, h) row-major.
type rowsOf struct {
	x    []float64
	n, h int
}

func tensorRows(t golden.Tensor) rowsOf { return rowsOf{t.Data, t.Shape[0], t.Shape[1]} }

// transposed turns (h, n) into (n, h) and back.
func (r rowsOf) transposed() rowsOf {
	y := make([]float64, len(r.x))
	for i := range r.n {
		for k := range r.h {
			y[k*r.n+i] = r.x[i*r.h+k]
		}
	}
	return rowsOf{y, r.h, r.n}
}

func (r rowsOf) row(i int) []float64 { return r.x[i*r.h : (i+1)*r.h] }

func (r rowsOf) like() rowsOf { return rowsOf{make([]float64, len(r.x)), r.n, r.h} }

// normalized returns the rows at length 1.
func (r rowsOf) normalized() rowsOf {
	y := r.like()
	for i := range r.n {
		norm := length(r.row(i))
		for k, v := range r.row(i) {
			y.row(i)[k] = v / math.Max(norm, 1e-12)
		}
	}
	return y
}

// normalizedGrad returns the gradient of normalized at r, given that of its result.
func (r rowsOf) normalizedGrad(dy rowsOf) rowsOf {
	dx := r.like()
	y := r.normalized()
	for i := range r.n {
		norm := length(r.row(i))
		along := 0.0
		for k, v := range y.row(i) {
			along += v * dy.row(i)[k]
		}
		for k, v := range y.row(i) {
			dx.row(i)[k] = (dy.row(i)[k] - along*v) / norm
		}
	}
	return dx
}

func length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// pairwise returns the matrix of a metric.
func pairwise(m metric.Metric, a, b rowsOf) []float64 {
	v := make([]float64, a.n*b.n)
	for i := range a.n {
		for j := range b.n {
			v[i*b.n+j] = m.Value64(a.row(i), b.row(j))
		}
	}
	return v
}

// pairwiseGrad adds the gradients of pairwise to da and db.
func pairwiseGrad(m metric.Metric, grad []float64, a, b, da, db rowsOf) {
	for i := range a.n {
		for j := range b.n {
			if g := grad[i*b.n+j]; g != 0 {
				m.Gradient(da.row(i), db.row(j), a.row(i), b.row(j), g)
			}
		}
	}
}

// batch is the matrix of a batch with itself.
func batch(m metric.Metric, x rowsOf, labels []int) *Matrix {
	return &Matrix{Rows: x.n, Cols: x.n, V: pairwise(m, x, x), RowLabels: labels, ColLabels: labels,
		Similarity: m.Similarity(), SelfColumns: true}
}

// classes is the matrix of a batch with perClass parameter rows a class.
func classes(m metric.Metric, x, p rowsOf, labels []int, perClass int) *Matrix {
	columns := make([]int, p.n)
	for j := range columns {
		columns[j] = j / perClass
	}
	return &Matrix{Rows: x.n, Cols: p.n, V: pairwise(m, x, p), RowLabels: labels, ColLabels: columns,
		Similarity: m.Similarity()}
}

// onBatch returns a loss of embeddings and its gradient with respect to them.
func onBatch(t *testing.T, l Loss, m metric.Metric, x rowsOf, labels []int, normalize bool) (Result, rowsOf) {
	t.Helper()
	z := x
	if normalize {
		z = x.normalized()
	}
	matrix := batch(m, z, labels)
	grad := make([]float64, len(matrix.V))
	r, err := l.Eval(matrix, grad)
	if err != nil {
		t.Fatal(err)
	}
	dz := z.like()
	pairwiseGrad(m, grad, z, z, dz, dz)
	if normalize {
		dz = x.normalizedGrad(dz)
	}
	return r, dz
}

// onClasses returns a loss of embeddings and class rows with its gradients.
func onClasses(t *testing.T, l Loss, m metric.Metric, x, p rowsOf, labels []int, perClass int, normalizeX, normalizeP bool) (Result, rowsOf, rowsOf) {
	t.Helper()
	z, w := x, p
	if normalizeX {
		z = x.normalized()
	}
	if normalizeP {
		w = p.normalized()
	}
	matrix := classes(m, z, w, labels, perClass)
	grad := make([]float64, len(matrix.V))
	r, err := l.Eval(matrix, grad)
	if err != nil {
		t.Fatal(err)
	}
	dz, dw := z.like(), w.like()
	pairwiseGrad(m, grad, z, w, dz, dw)
	if normalizeX {
		dz = x.normalizedGrad(dz)
	}
	if normalizeP {
		dw = p.normalizedGrad(dw)
	}
	return r, dz, dw
}
