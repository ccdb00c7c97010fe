package losses

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// goldenSEC is a base loss with the constraint beside it: with the batch's mean
// length, with an average that is given, and the penalty on lengths alone.
func goldenSEC(t *testing.T, c *golden.Case) {
	kind := strings.TrimPrefix(c.Name, "authors_sec_")
	base, m := secBase(t, c, kind)
	x, labels := batchInputs(c)
	r, dx := onBatch(t, base, m, x, labels, c.Params.Bool("normalized", true))
	golden.Close64(t, "base_value", []float64{r.Value}, c.Outputs["base_value"], c.Tolerance)
	golden.Close64(t, "base_grad_embeddings", dx.x, c.Outputs["base_grad_embeddings"], c.Tolerance)
	for _, mode := range []string{"batch", "ema", "l2reg"} {
		s := &SEC{Weight: c.Outputs[mode+"_sec_weight"].Scalar(), L2: c.Outputs[mode+"_l2reg_weight"].Scalar()}
		mean := c.Outputs[mode+"_norm_mean"].Scalar()
		if mode == "ema" { // one step from where it leads to the mean given
			s.Momentum = 0.25
			Parameters(s)[0].Value[0] = (mean - 0.25*c.Outputs["batch_norm_mean"].Scalar()) / 0.75
		}
		g := make([]float64, len(x.x))
		value, err := s.EvalRows(x.x, x.n, x.h, g)
		if err != nil {
			t.Fatal(err)
		}
		if s.Weight != 0 {
			golden.Close64(t, mode+"_norm_mean", Parameters(s)[0].Value, golden.Tensor{Data: []float64{mean}}, c.Tolerance)
		}
		for k := range g {
			g[k] += dx.x[k]
		}
		golden.Close64(t, mode+"_value", []float64{r.Value + value}, c.Outputs[mode+"_value"], c.Tolerance)
		golden.Close64(t, mode+"_grad_embeddings", g, c.Outputs[mode+"_grad_embeddings"], c.Tolerance)
	}
}

// secBase is the peer's own form of a loss.
func secBase(t *testing.T, c *golden.Case, kind string) (Loss, metric.Metric) {
	margin := c.Params.Float("margin", 0)
	switch kind {
	case "triplet":
		return &Triplet{Margin: margin, Reduction: MeanAll}, squared
	case "semihard":
		return &Triplet{Margin: margin, Miner: NearestSemiHard{}, Reduction: MeanAll}, squared
	case "npair", "npair_unnormalized":
		scale := c.Params.Float("scale", 1) // of the rows
		return &NPairs{Temperature: scale * scale, Classic: true}, dot
	case "ms":
		return authorsMultiSimilarity(c), dot
	}
	t.Fatalf("unknown base loss %q", kind)
	return nil, metric.Metric{}
}

func goldenSECOnly(t *testing.T, c *golden.Case) {
	x, _ := batchInputs(c)
	g := make([]float64, len(x.x))
	value, err := (&SEC{Weight: c.Params.Float("sec_weight", 0)}).EvalRows(x.x, x.n, x.h, g)
	if err != nil {
		t.Fatal(err)
	}
	golden.Close64(t, "value", []float64{value}, c.Outputs["value"], c.Tolerance)
	golden.Close64(t, "grad_embeddings", g, c.Outputs["grad_embeddings"], c.Tolerance)
}

// The average starts with the first batch and is saved and restored as a
// statistic: a run that continues from there gives what the uninterrupted one gives.
func TestSECGoesOnFromItsStatistic(t *testing.T) {
	first, second := []float64{3, 4, 0, 1}, []float64{6, 8, 0, 0}
	s := &SEC{Weight: 1, Momentum: 0.5}
	g := make([]float64, 4)
	eval := func(s *SEC, x []float64) float64 {
		v, err := s.EvalRows(x, 2, 2, g)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := eval(s, first); v != 4 { // lengths 5 and 1, mean 3
		t.Errorf("first batch: %v, want 4", v)
	}
	resumed := &SEC{Weight: 1, Momentum: 0.5}
	copy(Parameters(resumed)[0].Value, Parameters(s)[0].Value)
	want := (36 + 16) / 2.0 // lengths 10 and 0; mean 4 after half a step to 5
	if a, b := eval(s, second), eval(resumed, second); a != b || a != want {
		t.Errorf("uninterrupted %v, resumed %v, want %v", a, b, want)
	}
	if g[2] != 0 || g[3] != 0 {
		t.Errorf("gradient %v of a row of length 0, want 0", g[2:])
	}
	if Parameters(s)[0].Grad != nil {
		t.Error("an optimizer must not move the average")
	}
}
