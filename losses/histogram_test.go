package losses

import (
	"math"
	"testing"
)

// Similarities on bin centers: positives .5 and 0, negatives 0 and -.5. A
// negative is at least as similar as a positive in one of the four pairings, (0, 0).
func TestHistogramCountsWrongOrders(t *testing.T) {
	labels := []int{0, 0, 1, 1}
	v := []float64{
		1, 0.5, 0, -0.5,
		0.5, 1, -0.5, 0,
		0, -0.5, 1, 0,
		-0.5, 0, 0, 1,
	}
	m := &Matrix{Rows: 4, Cols: 4, V: v, RowLabels: labels, ColLabels: labels, Similarity: true, SelfColumns: true}
	l := &Histogram{Bins: 4, Low: -1, High: 1}
	grad := make([]float64, 16)
	r, err := l.Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if r.Value != 0.25 || r.Total != 12 {
		t.Errorf("%+v, want 0.25 of 12 pairs", r)
	}
	// Positives raised by .25: both now lie between centers, half on each side,
	// .5..1 and 0..0.5. The negatives at 0 are level with half of one of the two.
	for _, k := range []int{1, 4, 11, 14} {
		v[k] += 0.25
	}
	if r, err = l.Eval(m, grad); err != nil || math.Abs(r.Value-0.125) > 1e-15 {
		t.Errorf("%+v, %v, want 0.125", r, err)
	}
}
