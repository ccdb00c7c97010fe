package losses

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

func goldenSoftTriple(t *testing.T, c *golden.Case) {
	l := &SoftTriple{
		Lambda: c.Params.Float("la", 0), Gamma: c.Params.Float("gamma", 0), Margin: c.Params.Float("margin", 0),
		Centers: c.Params.Int("centers_per_class", 1), Tau: c.Params.Float("tau", 0),
	}
	if strings.HasPrefix(c.Name, "authors_") {
		l.Epsilon = 1e-5
	}
	x, labels := batchInputs(c)
	w := tensorRows(c.Inputs["fc"]).transposed()
	r, dx, dw := onClasses(t, l, dot, x, w, labels, PerClass(l), c.Params.Bool("normalize", true), true)
	if term := ClassTerm(l); term != nil {
		z, dz := w.normalized(), w.like()
		r.Value += onOwnClass(t, term, dot, z, l.Centers, dz).Value
		for k, g := range w.normalizedGrad(dz).x {
			dw.x[k] += g
		}
	} else if l.Tau != 0 {
		t.Fatal("no term on the centers")
	}
	check64(t, c, r, dx)
	golden.Close64(t, "grad_fc", dw.transposed().x, c.Outputs["grad_fc"], c.Tolerance)
}

// onOwnClass returns a term on class rows, per of each class, and adds its gradient.
func onOwnClass(t *testing.T, term Loss, m metric.Metric, rows rowsOf, per int, drows rowsOf) Result {
	t.Helper()
	matrix := &Matrix{Rows: rows.n, Cols: per, Similarity: m.Similarity()}
	for i := range rows.n {
		matrix.RowLabels = append(matrix.RowLabels, i/per)
		for j := range per {
			matrix.V = append(matrix.V, m.Value64(rows.row(i), rows.row(i-i%per+j)))
		}
	}
	grad := make([]float64, len(matrix.V))
	for k := range grad {
		grad[k] = math.NaN() // Eval overwrites
	}
	r, err := term.Eval(matrix, grad)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows.n {
		for j := range per {
			if g := grad[i*per+j]; g != 0 {
				o := i - i%per + j
				m.Gradient(drows.row(i), drows.row(o), rows.row(i), rows.row(o), g)
			}
		}
	}
	return r
}

// The term on the centers needs the values within classes alone, but is what Eq. 9
// says of the square matrix of all centers, whatever the metric.
func TestSoftTripleCentersAreThoseOfTheSquareMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 4))
	const epsilon, tau = 1e-5, 0.5
	for _, m := range testMetrics() {
		view := AsSimilarity(m, 1)
		for _, size := range [][2]int{{1, 2}, {5, 3}, {3, 7}, {11, 2}} {
			classes, k := size[0], size[1]
			const h = 6
			w := rowsOf{make([]float64, classes*k*h), classes * k, h}
			for i := range w.x {
				w.x[i] = rng.NormFloat64()
			}
			w = w.normalized()
			if classes > 1 {
				copy(w.row(1), w.row(0)) // two centers that have met
			}
			want, terms := 0.0, 0
			dwant := w.like()
			v := pairwise(m, w, w)
			for a := range w.n {
				for b := a + 1; b < w.n; b++ {
					if a/k != b/k {
						continue
					}
					terms++
					s, slope := view.at(v[a*w.n+b])
					root := math.Sqrt(2 + epsilon - 2*s)
					share := tau / float64(classes*k*(k-1))
					want += share * root
					m.Gradient(dwant.row(a), dwant.row(b), w.row(a), w.row(b), -share/root*slope)
				}
			}
			got := w.like()
			r := onOwnClass(t, ClassTerm(On(view, &SoftTriple{Centers: k, Tau: tau, Epsilon: epsilon})), m, w, k, got)
			if math.Abs(r.Value-want) > 1e-13*want || r.Total != terms {
				t.Errorf("%v, %d classes of %d: %+v, by the square matrix %v of %d", m, classes, k, r, want, terms)
			}
			for i, g := range dwant.x {
				if math.Abs(got.x[i]-g) > 1e-12*(1+math.Abs(g)) {
					t.Fatalf("%v, %d classes of %d: gradient %d is %v, by the square matrix %v", m, classes, k, i, got.x[i], g)
				}
			}
		}
	}
}

func TestGradientOfSoftTripleCentersIsThatOfTheValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range testMetrics() {
		const classes, k, h = 3, 3, 4
		l := mustNew(t, "soft-triple", Options{Metric: m, Params: map[string]string{"centers": "3", "tau": "2"}})
		w := rowsOf{make([]float64, classes*k*h), classes * k, h}
		for i := range w.x {
			w.x[i] = 0.6 * rng.NormFloat64()
		}
		grad := w.like()
		onOwnClass(t, ClassTerm(l), m, w, k, grad)
		for i := range w.x {
			at := w.x[i]
			value := func(x float64) float64 {
				w.x[i] = x
				return onOwnClass(t, ClassTerm(l), m, w, k, w.like()).Value
			}
			slope := (value(at+1e-6) - value(at-1e-6)) / 2e-6
			w.x[i] = at
			if math.Abs(slope-grad.x[i]) > 1e-6*(1+math.Abs(slope)) {
				t.Errorf("%v: gradient %d is %v, by differences %v", m, i, grad.x[i], slope)
			}
		}
	}
}

func TestSoftTripleCentersRefuseAnotherMatrix(t *testing.T) {
	term := ClassTerm(&SoftTriple{Centers: 2, Tau: 1})
	for _, c := range []struct {
		m    Matrix
		want string
	}{
		{Matrix{Rows: 3, Cols: 2, V: make([]float64, 6), RowLabels: []int{0, 0, 1}, Similarity: true}, "3 class rows are not a multiple of 2"},
		{Matrix{Rows: 3, Cols: 3, V: make([]float64, 9), RowLabels: []int{0, 0, 0}, Similarity: true}, "3 a class, not 2"},
		{Matrix{Rows: 4, Cols: 2, V: make([]float64, 8), RowLabels: []int{0, 1, 0, 1}, Similarity: true}, "class row 1 stands for class 1, row 0 for 0"},
		{Matrix{Rows: 2, Cols: 2, V: make([]float64, 3), RowLabels: []int{0, 0}, Similarity: true}, "3 values"},
		{Matrix{Rows: 2, Cols: 2, V: make([]float64, 4), RowLabels: []int{0}, Similarity: true}, "1 labels for 2 rows"},
		{Matrix{Rows: 2, Cols: 2, V: make([]float64, 4), RowLabels: []int{0, 0}, ColLabels: []int{0, 0}, Similarity: true}, "further columns"},
		{Matrix{Rows: 2, Cols: 2, V: []float64{0, math.NaN(), 0, 0}, RowLabels: []int{0, 0}, Similarity: true}, "row 0, column 1: NaN"},
		{Matrix{Rows: 2, Cols: 2, V: make([]float64, 4), RowLabels: []int{0, 0}}, "AsSimilarity"},
	} {
		if _, err := term.Eval(&c.m, make([]float64, len(c.m.V))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q in it", err, c.want)
		}
	}
}

// Behind a view the term on the centers sees the view of their distances too.
func TestSoftTripleCentersBehindAView(t *testing.T) {
	l := mustNew(t, "soft-triple", Options{Metric: euclidean, Params: map[string]string{"centers": "2"}})
	term := ClassTerm(l)
	if term == nil || PerClass(l) != 2 {
		t.Fatalf("term %v, %d centers", term, PerClass(l))
	}
	// Unit vectors .6 apart: sqrt(2 - 2 s) is .6 again; weight .2/(1*2*1).
	m := &Matrix{Rows: 2, Cols: 2, V: []float64{0, 0.6, 0.6, 0}, RowLabels: []int{0, 0}}
	r, err := term.Eval(m, make([]float64, 4))
	if want := 0.1 * math.Sqrt(0.36+1e-5); err != nil || math.Abs(r.Value-want) > 1e-12 {
		t.Errorf("%+v, %v, want %v", r, err, want)
	}
	if ClassTerm(mustNew(t, "soft-triple", Options{Metric: euclidean, Params: map[string]string{"tau": "0"}})) != nil {
		t.Error("a term without weight is none")
	}
	if ClassTerm(mustNew(t, "cosface", Options{Metric: euclidean})) != nil || PerClass(mustNew(t, "cosface", Options{Metric: euclidean})) != 1 {
		t.Error("cosface has one row a class and no term on it")
	}
}
