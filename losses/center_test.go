package losses

import (
	"math"
	"slices"
	"testing"
)

// Distances .3 and .5 to the own centers: their mean .4, slope 1/2 each.
func TestCenterIsTheMeanDistanceToTheOwnCenter(t *testing.T) {
	m := &Matrix{Rows: 2, Cols: 3, V: []float64{0.9, 0.3, 0.8, 0.7, 0.6, 0.5}, RowLabels: []int{1, 2}, ColLabels: []int{0, 1, 2}}
	grad := make([]float64, 6)
	r, err := (&Center{}).Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Value-0.4) > 1e-15 || !slices.Equal(grad, []float64{0, 0.5, 0, 0, 0, 0.5}) {
		t.Errorf("%+v, gradient %v", r, grad)
	}
}
