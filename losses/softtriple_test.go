package losses

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
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
		own := make([]int, w.n)
		for j := range own {
			own[j] = j / l.Centers
		}
		spread, d := onBatch(t, term, dot, w, own, true)
		r.Value += spread.Value
		for k := range dw.x {
			dw.x[k] += d.x[k]
		}
	} else if l.Tau != 0 {
		t.Fatal("no term on the centres")
	}
	check64(t, c, r, dx)
	golden.Close64(t, "grad_fc", dw.transposed().x, c.Outputs["grad_fc"], c.Tolerance)
}

// The term on the centres is a sum over classes: in parts, each with its share
// of the classes, it is the same.
func TestSoftTripleCentresInParts(t *testing.T) {
	l := &SoftTriple{Centers: 2, Tau: 0.5, Epsilon: 1e-5}
	v := []float64{
		1, 0.3, 0.9, 0.1,
		0.3, 1, -0.2, 0.7,
		0.9, -0.2, 1, 0.4,
		0.1, 0.7, 0.4, 1,
	}
	labels := []int{0, 0, 1, 1}
	grad := make([]float64, 16)
	r, err := ClassTerm(l).Eval(&Matrix{Rows: 4, Cols: 4, V: v, RowLabels: labels, ColLabels: labels, Similarity: true, SelfColumns: true}, grad)
	if err != nil {
		t.Fatal(err)
	}
	// Two classes of two centres: 0.5/(2*2*1) * (sqrt(2-.6) + sqrt(2-.8)).
	if want := 0.125 * (math.Sqrt(1.40001) + math.Sqrt(1.20001)); math.Abs(r.Value-want) > 1e-15 || r.Total != 2 {
		t.Errorf("%+v, want %v of 2", r, want)
	}
	if want := -0.125 / math.Sqrt(1.40001); math.Abs(grad[1]-want) > 1e-15 {
		t.Errorf("gradient %v, want %v", grad[1], want)
	}
}

// Behind a view the term on the centres sees the view of their distances too.
func TestSoftTripleCentresBehindAView(t *testing.T) {
	l := mustNew(t, "soft-triple", Options{Metric: euclidean, Params: map[string]string{"centers": "2"}})
	term := ClassTerm(l)
	if term == nil || PerClass(l) != 2 {
		t.Fatalf("term %v, %d centres", term, PerClass(l))
	}
	// Unit vectors .6 apart: sqrt(2 - 2 s) is .6 again; weight .2/(1*2*1).
	m := &Matrix{Rows: 2, Cols: 2, V: []float64{0, 0.6, 0.6, 0}, RowLabels: []int{0, 0}, ColLabels: []int{0, 0}, SelfColumns: true}
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
