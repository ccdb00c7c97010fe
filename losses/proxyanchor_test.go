package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenProxyAnchor(t *testing.T, c *golden.Case) {
	delta := c.Params.Float("margin", 0)
	l := &ProxyAnchor{Alpha: c.Params.Float("alpha", 0), PosMargin: delta, NegMargin: -delta}
	x, labels := batchInputs(c)
	r, dx, dp := onClasses(t, l, dot, x, tensorRows(c.Inputs["proxies"]), labels, 1, true, true)
	check64(t, c, r, dx)
	golden.Close64(t, "grad_proxies", dp.x, c.Outputs["grad_proxies"], c.Tolerance)
}

// exp(32*(s + 0.1)) summed directly is e^35 per term; the log-sum gives the
// same number, and continues where the direct form overflows.
func TestProxyAnchorIsTheDirectFormWithoutItsOverflow(t *testing.T) {
	m := &Matrix{
		Rows: 3, Cols: 2, RowLabels: []int{0, 1, 1}, ColLabels: []int{0, 1}, Similarity: true,
		V: []float64{0.9, 0.99, -0.4, 0.2, 1, -1},
	}
	for _, alpha := range []float64{1, 32, 1e4} {
		pos0 := math.Log1p(math.Exp(-alpha * (0.9 - 0.1)))
		pos1 := math.Log1p(math.Exp(-alpha*(0.2-0.1)) + math.Exp(-alpha*(-1-0.1)))
		neg0 := math.Log1p(math.Exp(alpha*(-0.4+0.1)) + math.Exp(alpha*(1+0.1)))
		neg1 := math.Log1p(math.Exp(alpha * (0.99 + 0.1)))
		want := (pos0+pos1)/2 + (neg0+neg1)/2
		grad := make([]float64, 6)
		r, err := (&ProxyAnchor{Alpha: alpha, PosMargin: 0.1, NegMargin: -0.1}).Eval(m, grad)
		if err != nil {
			t.Fatal(err)
		}
		if alpha == 1e4 {
			want = alpha * (1.1 + 1.1 + 1.09) / 2 // what the direct form tends to
		}
		if math.Abs(r.Value-want) > 1e-9*want {
			t.Errorf("alpha %v: %v, want %v", alpha, r.Value, want)
		}
		for _, g := range grad {
			if g-g != 0 || math.Abs(g) > alpha {
				t.Errorf("alpha %v: gradient %v", alpha, grad)
			}
		}
	}
}
