package losses

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// goldenHyperbolic checks the loss on cosines (c = 0) or on exact Poincare
// distances, and those distances.
func goldenHyperbolic(t *testing.T, c *golden.Case) {
	x0, x1 := tensorRows(c.Inputs["x0"]), tensorRows(c.Inputs["x1"])
	n, h := x0.n, x0.h
	x := rowsOf{slices.Concat(x0.x, x1.x), 2 * n, h}
	labels := make([]int, 2*n)
	for i := range labels {
		labels[i] = i % n
	}
	by := metric.Metric{Kind: metric.Cosine}
	if c.Params.Float("c", 0) != 0 {
		by = metric.Metric{Kind: metric.Poincare, Curvature: c.Params.Float("c", 0), Clip: c.Params.Float("clip_r", 0)}
	}
	if want, ok := c.Outputs["exact_point0"]; ok && by.Kind == metric.Poincare {
		golden.Close64(t, "exact_point0", ballPoints(by, x0), want, c.Tolerance)
		golden.Close64(t, "exact_point1", ballPoints(by, x1), c.Outputs["exact_point1"], c.Tolerance)
	}
	m := batch(by, x, labels)
	if want, ok := c.Outputs["exact_dist01"]; ok {
		var d []float64
		for i := range n {
			d = append(d, m.row(m.V, i)[n:]...)
		}
		golden.Close64(t, "exact_dist01", d, want, c.Tolerance)
	}
	for _, first := range []bool{true, false} {
		r, dx := onBatch(t, &PairwiseCrossEntropy{Temperature: c.Params.Float("tau", 0), FirstOnly: first}, by, x, labels, false)
		if first {
			golden.Close64(t, "exact_value", []float64{r.Value}, c.Outputs["exact_value"], c.Tolerance)
			golden.Close64(t, "exact_grad_x0", dx.x[:n*h], c.Outputs["exact_grad_x0"], c.Tolerance)
			golden.Close64(t, "exact_grad_x1", dx.x[n*h:], c.Outputs["exact_grad_x1"], c.Tolerance)
		} else if by.Kind == metric.Cosine { // of the peer's own numbers only; they are exact at c = 0
			golden.Close64(t, "symmetric_value", []float64{r.Value}, c.Outputs["symmetric_value"], c.Tolerance)
			golden.Close64(t, "symmetric_grad_x0", dx.x[:n*h], c.Outputs["symmetric_grad_x0"], c.Tolerance)
			golden.Close64(t, "symmetric_grad_x1", dx.x[n*h:], c.Outputs["symmetric_grad_x1"], c.Tolerance)
		} else {
			// The peer's terms of 1e-5 move its distances by up to 2e-3 at c = 1.
			golden.Close64(t, "symmetric_value", []float64{r.Value}, c.Outputs["symmetric_value"], golden.Tolerance{RTol: 5e-2*by.Curvature*by.Curvature + 1e-3})
		}
	}
}

// ballPoints are the points of the ball that the metric maps rows to: along the
// row, as far from the center as the metric says, 2 artanh(sqrt(c)|z|)/sqrt(c).
func ballPoints(m metric.Metric, x rowsOf) []float64 {
	k := math.Sqrt(m.Curvature)
	z, center := x.normalized(), make([]float64, x.h)
	for i := range z.n {
		radius := math.Tanh(k*m.Value64(x.row(i), center)/2) / k
		for d := range z.h {
			z.row(i)[d] *= radius
		}
	}
	return z.x
}
