package losses

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenMargin(t *testing.T, c *golden.Case) {
	l := &Margin{Margin: c.Params.Float("margin", 0), Nu: c.Params.Float("nu", 0), Learn: c.Params.Bool("learn_beta", false)}
	if beta, ok := c.Inputs["beta"]; ok {
		l.Beta = append(l.Beta, beta.Data...)
	} else {
		l.Beta = []float64{c.Params.Float("beta", 0)}
	}
	onBatchGolden(t, c, l, euclidean)
	if want, ok := c.Outputs["grad_beta"]; ok {
		golden.Close64(t, "grad_beta", Parameters(l)[0].Grad, want, c.Tolerance)
	}
}

// A checkpoint or an optimizer that writes to the parameter moves the loss, and
// its gradient is that of the value, through a view too.
func TestMarginBoundaryIsAParameter(t *testing.T) {
	for _, learn := range []string{"one", "class"} {
		l := mustNew(t, "margin", Options{Metric: brm, Classes: 3, Params: map[string]string{"learn": learn, "nu": "0.3", "beta": "1.1"}})
		s := situations(brm)[0]
		m := batch(brm, s.x, s.labels)
		grad := make([]float64, len(m.V))
		eval := func() float64 {
			r, err := l.Eval(m, grad)
			if err != nil {
				t.Fatal(err)
			}
			return r.Value
		}
		eval()
		p := Parameters(l)
		if len(p) != 1 || p[0].Name != "beta" || len(p[0].Value) != p[0].Shape[0] {
			t.Fatalf("parameters %v", p)
		}
		want := slices.Clone(p[0].Grad)
		for b := range p[0].Value {
			const step = 1e-6
			p[0].Value[b] += step
			up := eval()
			p[0].Value[b] -= 2 * step
			down := eval()
			p[0].Value[b] += step
			if got := (up - down) / (2 * step); math.Abs(got-want[b]) > 1e-6 {
				t.Errorf("%s: gradient of boundary %d is %v, by differences %v", learn, b, want[b], got)
			}
		}
	}
	if p := Parameters(mustNew(t, "margin", Options{Metric: brm, Params: map[string]string{"learn": "none"}})); p != nil {
		t.Errorf("a fixed boundary is no parameter: %v", p)
	}
}

func TestMarginWithoutTheClassesBoundaryIsRefused(t *testing.T) {
	m := &Matrix{Rows: 2, Cols: 2, V: make([]float64, 4), RowLabels: []int{0, 2}, ColLabels: []int{0, 2}, SelfColumns: true}
	_, err := (&Margin{Margin: 0.2, Beta: []float64{1, 1}}).Eval(m, make([]float64, 4))
	if err == nil || !strings.Contains(err.Error(), "row 1 has label 2") {
		t.Errorf("error %v does not name label 2", err)
	}
	_, err = New("margin", Options{Metric: brm, Params: map[string]string{"learn": "class"}})
	if err == nil || !strings.Contains(err.Error(), "number of classes") {
		t.Errorf("error %v does not ask for the number of classes", err)
	}
}
