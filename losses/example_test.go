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

// No field is set: the authors' constants and their miner, on cosines. The miner leaves
// pairs of rows 0 and 3 alone, whose nearest negative, .85, is within .1 of their
// positive.
func ExampleMultiSimilarity() {
	labels := []int{0, 0, 1, 1}
	m := &losses.Matrix{
		Rows: 4, Cols: 4, RowLabels: labels, ColLabels: labels, SelfColumns: true, Similarity: true,
		V: []float64{
			1, 0.9, 0.3, 0.85,
			0.9, 1, 0.5, 0.2,
			0.3, 0.5, 1, 0.7,
			0.85, 0.2, 0.7, 1,
		},
	}
	grad := make([]float64, 16)
	r, err := (&losses.MultiSimilarity{}).Eval(m, grad)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f, %d of %d rows\n", r.Value, r.Active, r.Total)
	// One field is set, and so the others count as they are.
	_, err = (&losses.MultiSimilarity{Beta: 50}).Eval(m, grad)
	fmt.Println(err)
	// Output:
	// 0.2855, 2 of 4 rows
	// losses: multi-similarity: Alpha is 0, want 0 < Alpha (the default is 2); once one field is set, those that are not count as 0
}

// The zero value has the paper's constants, which are for cosines. A view puts another
// metric into that unit.
func ExampleProxyAnchor() {
	distances := &losses.Matrix{
		Rows: 2, Cols: 2, RowLabels: []int{0, 1}, ColLabels: []int{0, 1},
		V: []float64{
			0.4, 1.2,
			1.3, 0.5,
		},
	}
	grad := make([]float64, 4)
	_, err := (&losses.ProxyAnchor{}).Eval(distances, grad)
	fmt.Println(err)
	euclidean := metric.Metric{Kind: metric.Euclidean}
	r, err := losses.On(losses.AsSimilarity(euclidean, 1), &losses.ProxyAnchor{}).Eval(distances, grad)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, %d of %d terms\n", r.Value, r.Active, r.Total)
	// Output:
	// losses: proxy-anchor: the constants of the zero value are for cosines (the view AsSimilarity); put that in front of other values (On), or set the fields
	// 10.160, 4 of 4 terms
}
