package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// The reference's distances are between unit rows and proxies; the authors' are
// between rows of length scaling_x and proxies of length scaling_p.
func goldenProxyNCA(t *testing.T, c *golden.Case) {
	l := &ProxyNCA{
		Scale:     c.Params.Float("softmax_scale", 1) * c.Params.Float("scaling_x", 1) * c.Params.Float("scaling_p", 1),
		Smoothing: c.Params.Float("smoothing_const", 0),
	}
	onClassesGolden(t, c, l, squared, "proxies", false)
}

// One row, distances 1 to its proxy, 2 and 3 to the others: the paper's form is
// -log(e^-1/(e^-2 + e^-3)).
func TestProxyNCAWithoutTheOwnProxyInTheDenominator(t *testing.T) {
	m := &Matrix{Rows: 1, Cols: 3, V: []float64{2, 1, 3}, RowLabels: []int{1}, ColLabels: []int{0, 1, 2}}
	grad := make([]float64, 3)
	r, err := (&ProxyNCA{Scale: 1, OthersOnly: true}).Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + math.Log(math.Exp(-2)+math.Exp(-3)); math.Abs(r.Value-want) > 1e-15 {
		t.Errorf("value %v, want %v", r.Value, want)
	}
	w := 1 / (1 + math.Exp(-1))
	for j, want := range []float64{-w, 1, -(1 - w)} {
		if math.Abs(grad[j]-want) > 1e-15 {
			t.Errorf("gradient %v, want %v at %d", grad[j], want, j)
		}
	}
	if _, err := (&ProxyNCA{Scale: 1, OthersOnly: true, Smoothing: 0.1}).Eval(m, grad); err == nil {
		t.Error("smoothing without the own proxy means nothing")
	}
}
