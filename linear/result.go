package linear

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

// Result is a learned metric and how the fit went.
type Result struct {
	Learner string
	// L is (h, d): rows are compared as L x.
	L *mat.Dense
	// Metric compares the transformed rows: Euclidean for Mahalanobis
	// distances, BRM for the restricted ones, Manhattan for L1ML.
	Metric metric.Metric
	// ObjectiveStart and ObjectiveEnd are the learner's objective before and
	// after, NaN for closed forms. Minimized says which way is better.
	ObjectiveStart, ObjectiveEnd float64
	Minimized                    bool
	Iterations                   int
	// Converged says that the learner's own criterion ended the fit, not a
	// bound on iterations.
	Converged bool
	// Notes say what a user should know, such as a reduced rank.
	Notes []string
	// Eigenvalues are those of the directions, for spectral learners.
	Eigenvalues []float64
}

// euclideanMetric is the metric of every Mahalanobis learner.
var euclideanMetric = metric.Metric{Kind: metric.Euclidean}

// manhattanMetric is that of L1ML.
var manhattanMetric = metric.Metric{Kind: metric.Manhattan}

// closed is a result without iterations.
func closed(l *mat.Dense) *Result {
	return &Result{L: l, Metric: euclideanMetric, ObjectiveStart: math.NaN(), ObjectiveEnd: math.NaN(), Converged: true}
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// M returns L^T L, (d, d).
func (r *Result) M() *mat.SymDense { return gram(r.L) }

// Transform returns x L^T: (n, d) to (n, h).
func (r *Result) Transform(x *mat.Dense) (*mat.Dense, error) {
	_, d := x.Dims()
	if _, want := r.L.Dims(); d != want {
		return nil, fmt.Errorf("rows have %d columns, the metric was learned on %d", d, want)
	}
	return transform(x, r.L), nil
}

// Distance returns the distance of two rows of d numbers.
func (r *Result) Distance(a, b []float64) (float64, error) {
	_, d := r.L.Dims()
	if len(a) != d || len(b) != d {
		return 0, fmt.Errorf("rows have %d and %d columns, the metric was learned on %d", len(a), len(b), d)
	}
	diff := make([]float64, d)
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	h, _ := r.L.Dims()
	z := mat.NewVecDense(h, nil)
	z.MulVec(r.L, mat.NewVecDense(d, diff))
	return r.Metric.Value64(z.RawVector().Data, make([]float64, h)), nil
}

// Distances returns the distance of each pair of rows of x.
func (r *Result) Distances(x *mat.Dense, pairs []Pair) ([]float64, error) {
	n, _ := x.Dims()
	z, err := r.Transform(x)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(pairs))
	for k, p := range pairs {
		if p[0] < 0 || p[1] < 0 || p[0] >= n || p[1] >= n {
			return nil, fmt.Errorf("pair %d is %v, rows run from 0 to %d", k, p, n-1)
		}
		out[k] = r.Metric.Value64(z.RawRowView(p[0]), z.RawRowView(p[1]))
	}
	return out, nil
}

// finite refuses a matrix that was learned from numbers that overflow.
func (r *Result) finite() error {
	n, d := r.L.Dims()
	for i := range n {
		for j := range d {
			if v := r.L.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("the learned matrix holds %v: the numbers of the table are too large, too small or too much alike", v)
			}
		}
	}
	return nil
}
