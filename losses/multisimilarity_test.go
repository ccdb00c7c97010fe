package losses

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

func goldenMultiSimilarity(t *testing.T, c *golden.Case) {
	l := &MultiSimilarity{Alpha: c.Params.Float("alpha", 0), Beta: c.Params.Float("beta", 0), Base: c.Params.Float("base", 0)}
	onBatchGolden(t, c, l, dot)
}

// authorsMultiSimilarity is the authors' loss with their names of parameters.
func authorsMultiSimilarity(c *golden.Case) *MultiSimilarity {
	return &MultiSimilarity{
		Alpha: c.Params.Float("scale_pos", 0), Beta: c.Params.Float("scale_neg", 0), Base: c.Params.Float("thresh", 0),
		Miner: MultiSimilarityMiner{Epsilon: c.Params.Float("margin", 0), Duplicate: c.Params.Float("epsilon", 1e-5)},
	}
}

// The authors' code always works on unit rows; params.normalize is a remark.
func goldenMultiSimilarityAuthors(t *testing.T, c *golden.Case) {
	x, labels := batchInputs(c)
	l := authorsMultiSimilarity(c)
	r, dx := onBatch(t, l, dot, x, labels, true)
	check64(t, c, r, dx)
	if want, ok := c.Outputs["pml_value"]; ok {
		l.Miner = MultiSimilarityMiner{Epsilon: c.Params.Float("margin", 0)}
		r, dx := onBatch(t, l, dot, x, labels, true)
		golden.Close64(t, "pml_value", []float64{r.Value}, want, c.Tolerance)
		golden.Close64(t, "pml_grad_embeddings", dx.x, c.Outputs["pml_grad_embeddings"], c.Tolerance)
	}
}

func goldenMultiSimilarityMiner(t *testing.T, c *golden.Case) {
	miner := MultiSimilarityMiner{Epsilon: c.Params.Float("epsilon", 0)}
	x, labels := batchInputs(c)
	var mined Pairs
	if err := miner.Mine(batch(dot, x.normalized(), labels), &mined); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]int{
		"pos_anchor": mined.PosAnchor, "positive": mined.Positive, "neg_anchor": mined.NegAnchor, "negative": mined.Negative,
	} {
		if want := c.Outputs[name].Ints(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	l := &MultiSimilarity{Alpha: c.Params.Float("alpha", 0), Beta: c.Params.Float("beta", 0), Base: c.Params.Float("base", 0), Miner: miner}
	onBatchGolden(t, c, l, dot)
}

// A batch of 32 in which mining leaves no pair: classes that are far apart.
func TestMiningThatEmptiesEveryAnchorGivesZero(t *testing.T) {
	const n = 32
	m := &Matrix{Rows: n, Cols: n, V: make([]float64, n*n), SelfColumns: true, Similarity: true}
	for i := range n {
		m.RowLabels = append(m.RowLabels, i/4)
	}
	m.ColLabels = m.RowLabels
	for k := range m.V {
		m.V[k] = -0.3
		if m.RowLabels[k/n] == m.RowLabels[k%n] {
			m.V[k] = 0.9
		}
	}
	grad := make([]float64, n*n)
	l := mustNew(t, "multi-similarity", Options{Metric: metric.Metric{Kind: metric.Cosine}})
	r, err := l.Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if r != (Result{Total: n}) || slices.ContainsFunc(grad, func(g float64) bool { return g != 0 }) {
		t.Errorf("%+v, gradient %v", r, grad)
	}
}
