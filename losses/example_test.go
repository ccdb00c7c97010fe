package losses_test

import (
	"fmt"

	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// Two classes of two rows. Row 2 is .5 from row 1 of the other class, but .4
// from row 3 of its own: too near for a margin of .25.
func ExampleTriplet() {
	labels := []int{0, 0, 1, 1}
	m := &losses.Matrix{
		Rows: 4, Cols: 4, RowLabels: labels, ColLabels: labels, SelfColumns: true,
		V: []float64{
			0, 0.2, 0.9, 0.6,
			0.2, 0, 0.5, 0.8,
			0.9, 0.5, 0, 0.4,
			0.6, 0.8, 0.4, 0,
		},
	}
	grad := make([]float64, 16)
	r, err := (&losses.Triplet{Margin: 0.25}).Eval(m, grad)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, %d of %d triplets\n", r.Value, r.Active, r.Total)
	fmt.Println(grad[2*4 : 3*4])
	// Output:
	// 0.100, 2 of 8 triplets
	// [0 -0.5 0 0.5]
}

// Margins follow the metric, and what cannot be meant is refused.
func ExampleNew() {
	brm := metric.Metric{Kind: metric.BRM, P: 2}
	l, err := losses.New("contrastive", losses.Options{Metric: brm, Params: map[string]string{"v": "0.7B"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := l.(*losses.Contrastive)
	fmt.Printf("u = %.3f, v = %.3f\n", c.U, c.V)
	_, err = losses.New("contrastive", losses.Options{Metric: brm, Params: map[string]string{"u": "0.8B"}})
	fmt.Println(err)
	// Output:
	// u = 0.236, v = 0.700
	// loss contrastive on brm: u = 0.8, v = 0.5231, want 0 <= u < v <= 1
}
