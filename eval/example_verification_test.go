package eval_test

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

func ExampleReadPairs() {
	list, err := eval.ReadPairs(strings.NewReader("a,b,same\nann1.png,ann2.png,1\nann1.png,bob1.png,0\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, path := range list.Paths {
		fmt.Println(path, "shows", list.Identity[i])
	}
	_, err = eval.ReadPairs(strings.NewReader("a,b,same\nx.png,y.png,1\ny.png,x.png,0\n"))
	fmt.Println(err)
	// Output:
	// ann1.png shows ann1.png
	// ann2.png shows ann1.png
	// bob1.png shows bob1.png
	// line 3: y.png and x.png are called different, but both are of identity "x.png"
}

// A threshold is chosen on some identities and measured on others.
func ExampleROC_Calibrate() {
	e := &eval.Embeddings{N: 12, H: 1, X: []float32{0, 1, 2, 10, 11, 12, 20, 21, 23, 30, 31, 32}, Labels: []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}}
	names := []string{"ann", "ann", "ann", "bob", "bob", "bob", "cid", "cid", "cid", "dan", "dan", "dan"}
	calibration, test, err := eval.SplitIdentities(names, 0.5, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	curve := func(rows []int) *eval.ROC {
		pairs, err := eval.SamplePairs(e.Select(rows), metric.Metric{Kind: metric.Euclidean}, eval.PairOptions{})
		if err != nil {
			panic(err)
		}
		roc, err := pairs.ROC()
		if err != nil {
			panic(err)
		}
		return roc
	}
	rule, err := eval.ParseRule("cost:prior=0.5,accept=10")
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := curve(calibration).Calibrate(rule)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := curve(test).At(d.Threshold)
	fmt.Printf("same up to %.1f: FAR %.0f%%, FRR %.0f%% on other identities\n", d.Threshold, 100*at.FAR, 100*at.FRR)
	// Output: same up to 10.0: FAR 0%, FRR 0% on other identities
}

func ExamplePCA() {
	e := &eval.Embeddings{N: 4, H: 3, X: []float32{-2, 0, 0, 2, 0, 0, 0, 1, 0, 0, -1, 0}}
	p, err := eval.PCA(e, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.X[:4], p.Explained)
	// Output: [-2 0 2 0] [0.8 0.2]
}
