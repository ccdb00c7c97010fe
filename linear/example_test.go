package linear_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear"
)

// Two classes differ in the first column, and the second one is noise of a
// larger scale: the learned distance looks at the first.
func Example() {
	x := mat.NewDense(6, 2, []float64{
		0.0, 5, 0.1, -4, 0.2, 9,
		1.0, -6, 1.1, 4, 1.2, 8,
	})
	p := &linear.Problem{X: x, Labels: []int{0, 0, 0, 1, 1, 1}}
	r, err := linear.LDA{}.Fit(context.Background(), p)
	if err != nil {
		log.Fatal(err)
	}
	same, err := r.Distance([]float64{0, 0}, []float64{0, 9})
	if err != nil {
		log.Fatal(err)
	}
	different, err := r.Distance([]float64{0, 0}, []float64{1, 0})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(same < different)
	// Output: true
}

// Constraints can be given instead of labels, and a threshold calibrated on
// pairs that were not used.
func ExampleResult_ROC() {
	x := mat.NewDense(6, 1, []float64{0, .1, .2, 1, 1.1, 1.2})
	p := &linear.Problem{X: x, Similar: []linear.Pair{{0, 1}, {3, 4}}, Dissimilar: []linear.Pair{{0, 3}, {1, 4}}}
	r, err := linear.GEigen{}.Fit(context.Background(), p)
	if err != nil {
		log.Fatal(err)
	}
	roc, err := r.ROC(x, []linear.Pair{{1, 2}, {4, 5}, {2, 3}, {0, 5}}, []int{1, 1, -1, -1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("AUC %.1f, accuracy %.1f at the calibrated threshold\n", roc.AUC(), roc.ByAccuracy().Accuracy)
	// Output: AUC 1.0, accuracy 1.0 at the calibrated threshold
}
