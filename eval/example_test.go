package eval_test

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

// Two classes on a line, one row of the second among the first.
func twoClasses() *eval.Embeddings {
	return &eval.Embeddings{
		X: []float32{0, 0.1, 0.3, 0.15, 2, 2.2}, N: 6, H: 1,
		Labels: []int{1, 1, 1, 2, 2, 2},
	}
}

func ExampleEvaluate() {
	brm := metric.Metric{Kind: metric.BRM, Restriction: metric.Sigmoid, P: 2}
	f, err := eval.Evaluate(context.Background(), reference.New(), twoClasses(), brm, eval.Options{Split: "test classes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range f.Recall {
		fmt.Printf("Recall@%d %.1f%%\n", r.K, r.Percent)
	}
	fmt.Printf("by %s on %d queries of the %s, ties %s\n", f.Distance, f.Queries, f.Split, f.Ties)
	// Output:
	// Recall@1 50.0%
	// Recall@2 83.3%
	// Recall@4 100.0%
	// Recall@8 100.0%
	// by brm on 6 queries of the test classes, ties pessimistic
}

func ExampleNeighbors() {
	e := twoClasses()
	near, err := eval.Neighbors(context.Background(), reference.New(), e, e, metric.Metric{Kind: metric.Euclidean}, 2, eval.SearchOptions{Self: eval.LeaveOneOut(e.N)})
	if err != nil {
		fmt.Println(err)
		return
	}
	index, distance := near.Of(4)
	fmt.Printf("%v %.2f\n", index, distance)
	// Output: [5 2] [0.20 1.70]
}

func ExampleROC_ByCost() {
	roc, err := eval.NewROC([]float64{0.1, 0.2, 0.4, 0.3, 0.6, 0.8}, []bool{true, true, true, false, false, false})
	if err != nil {
		fmt.Println(err)
		return
	}
	// One pair in ten is the same; letting a stranger in costs five times as
	// much as turning a friend away.
	d, cost, err := roc.ByCost(eval.Costs{Prior: 0.1, FalseAccept: 5, FalseReject: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("accept up to %.2f: FAR %.2f, FRR %.2f, expected cost %.3f\n", d.Threshold, d.FAR, d.FRR, cost)
	// Output: accept up to 0.25: FAR 0.00, FRR 0.33, expected cost 0.033
}
