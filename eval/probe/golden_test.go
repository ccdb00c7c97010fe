package probe

import (
	"context"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

func rowsOf(c *golden.Case, name, labels string) *eval.Embeddings {
	x := c.Inputs[name]
	return &eval.Embeddings{X: x.Float32(), N: x.Shape[0], H: x.Shape[1], Labels: c.Inputs[labels].Ints()}
}

// The numbers are scikit-learn's, of KNeighborsClassifier and of LogisticRegression behind a
// StandardScaler, fitted until nothing changed. The rule for equal votes is this package's:
// only cases without them are scikit-learn's own there.
func TestGolden(t *testing.T) {
	golden.Walk(t, "probe", func(t *testing.T, c *golden.Case) {
		ctx := context.Background()
		bank, queries := rowsOf(c, "bank", "bank_labels"), rowsOf(c, "queries", "query_labels")
		ks := c.Params.Ints("ks")
		want := c.Outputs["votes"].Data // (ks, 3): euclidean, cosine, cosine weighted
		for at, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}} {
			votes, err := Neighbors(ctx, nil, bank, queries, m, ks, eval.SearchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range votes {
				if v.K != ks[i] || math.Abs(v.Percent-want[3*i+at]) > 1e-9 {
					t.Errorf("%v, k = %d: %v%% right, want %v%%", m, ks[i], v.Percent, want[3*i+at])
				}
				if m.Kind == metric.Cosine && math.Abs(v.Weighted-want[3*i+2]) > 1e-9 {
					t.Errorf("k = %d, weighted: %v%% right, want %v%%", ks[i], v.Weighted, want[3*i+2])
				}
			}
		}
		l, err := FitLinear(ctx, bank, LinearOptions{C: c.Params.Float("C", 0)})
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Probabilities(queries)
		if err != nil {
			t.Fatal(err)
		}
		// Both fits end where the gradient is small, not where it is 0.
		golden.Close64(t, "probabilities", p.RawMatrix().Data, c.Outputs["probabilities"], golden.Tolerance{ATol: 2e-5})
		golden.Close64(t, "loss", []float64{l.Loss}, c.Outputs["loss"], golden.Tolerance{RTol: 1e-8})
		guess, err := l.Classify(queries)
		if err != nil {
			t.Fatal(err)
		}
		right := 0.
		for i, label := range guess {
			if label == queries.Labels[i] {
				right++
			}
		}
		golden.Close64(t, "percent", []float64{100 * right / float64(queries.N)}, c.Outputs["percent"], golden.Tolerance{ATol: 1e-9})
		if !l.Converged {
			t.Errorf("the fit has not converged in %d iterations", l.Iterations)
		}
		f, err := Measure(ctx, nil, queries, bank, metric.Metric{Kind: metric.Euclidean}, Options{Ks: ks})
		if err != nil {
			t.Fatal(err)
		}
		golden.Close64(t, "alignment", []float64{*f.Alignment}, c.Outputs["alignment"], golden.Tolerance{RTol: 1e-6})
		golden.Close64(t, "uniformity", []float64{f.Uniformity}, c.Outputs["uniformity"], golden.Tolerance{RTol: 1e-6})
	})
}
