package losses

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// goldenHyperbolic checks the loss on cosines (c = 0) or on exact Poincare
// distances, and those distances.
func goldenHyperbolic(t *testing.T, c *golden.Case) {
	x0, x1 := tensorRows(c.Inputs["x0"]), tensorRows(c.Inputs["x1"])
	ball := poincare{c: c.Params.Float("c", 0), clip: c.Params.Float("clip_r", 0)}
	n, h := x0.n, x0.h
	x := rowsOf{slices.Concat(x0.x, x1.x), 2 * n, h}
	labels := make([]int, 2*n)
	for i := range labels {
		labels[i] = i % n
	}
	z, back := ball.embed(x)
	if want, ok := c.Outputs["exact_point0"]; ok {
		golden.Close64(t, "exact_point0", z.x[:n*h], want, c.Tolerance)
		golden.Close64(t, "exact_point1", z.x[n*h:], c.Outputs["exact_point1"], c.Tolerance)
	}
	m := &Matrix{Rows: 2 * n, Cols: 2 * n, V: make([]float64, 4*n*n), RowLabels: labels, ColLabels: labels,
		SelfColumns: true, Similarity: ball.c == 0}
	for i := range 2 * n {
		for j := range 2 * n {
			m.V[i*2*n+j] = ball.value(z.row(i), z.row(j))
		}
	}
	if want, ok := c.Outputs["exact_dist01"]; ok {
		var d []float64
		for i := range n {
			d = append(d, m.row(m.V, i)[n:]...)
		}
		golden.Close64(t, "exact_dist01", d, want, c.Tolerance)
	}
	for _, first := range []bool{true, false} {
		grad := make([]float64, len(m.V))
		r, err := (&PairwiseCrossEntropy{Temperature: c.Params.Float("tau", 0), FirstOnly: first}).Eval(m, grad)
		if err != nil {
			t.Fatal(err)
		}
		dz := z.like()
		for k, g := range grad {
			if g != 0 {
				ball.gradient(dz.row(k/m.Cols), dz.row(k%m.Cols), z.row(k/m.Cols), z.row(k%m.Cols), g)
			}
		}
		dx := back(dz)
		if first {
			golden.Close64(t, "exact_value", []float64{r.Value}, c.Outputs["exact_value"], c.Tolerance)
			golden.Close64(t, "exact_grad_x0", dx.x[:n*h], c.Outputs["exact_grad_x0"], c.Tolerance)
			golden.Close64(t, "exact_grad_x1", dx.x[n*h:], c.Outputs["exact_grad_x1"], c.Tolerance)
		} else if ball.c == 0 { // of the peer's own numbers only; they are exact at c = 0
			golden.Close64(t, "symmetric_value", []float64{r.Value}, c.Outputs["symmetric_value"], c.Tolerance)
			golden.Close64(t, "symmetric_grad_x0", dx.x[:n*h], c.Outputs["symmetric_grad_x0"], c.Tolerance)
			golden.Close64(t, "symmetric_grad_x1", dx.x[n*h:], c.Outputs["symmetric_grad_x1"], c.Tolerance)
		} else {
			// The peer's 1e-5 terms: README says 2e-5 relative at c = 0.1, 2e-3 at c = 1
			// in the distance; the cross-entropy of tau-scaled ones amplifies it.
			golden.Close64(t, "symmetric_value", []float64{r.Value}, c.Outputs["symmetric_value"], golden.Tolerance{RTol: 5e-2*ball.c*ball.c + 1e-3})
		}
	}
}
