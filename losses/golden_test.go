package losses

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// goldenCases maps the beginning of a case's name to its check, which is in the
// test file of the loss. The longest one that fits is taken.
func goldenCases() map[string]func(t *testing.T, c *golden.Case) {
	return map[string]func(t *testing.T, c *golden.Case){
		"authors_hyp":            goldenHyperbolic,
		"authors_ms":             goldenMultiSimilarityAuthors,
		"authors_proxy_anchor":   goldenProxyAnchor,
		"authors_proxy_nca":      goldenProxyNCA,
		"authors_sec_":           goldenSEC,
		"authors_soft_triple":    goldenSoftTriple,
		"miner_batch_hard":       goldenBatchHard,
		"miner_ms":               goldenMultiSimilarityMiner,
		"miner_triplet_":         goldenWindow,
		"pml_angular":            goldenAngular,
		"pml_arcface":            goldenArcFace,
		"pml_circle":             goldenCircle,
		"pml_contrastive":        goldenContrastive,
		"pml_cosface":            goldenCosFace,
		"pml_fastap":             goldenFastAP,
		"pml_generalized_lifted": goldenGeneralizedLifted,
		"pml_lifted":             goldenLifted,
		"pml_margin":             goldenMargin,
		"pml_ms":                 goldenMultiSimilarity,
		"pml_nca":                goldenNCA,
		"pml_normalized_softmax": goldenNormalizedSoftmax,
		"pml_npairs":             goldenNPairs,
		"pml_ntxent":             goldenNTXent,
		"pml_proxy_anchor":       goldenProxyAnchor,
		"pml_proxy_nca":          goldenProxyNCA,
		"pml_soft_triple":        goldenSoftTriple,
		"pml_supcon":             goldenSupCon,
		"pml_triplet":            goldenTriplet,
		"sec_only":               goldenSECOnly,
	}
}

// Every reference case of the losses: pytorch-metric-learning 2.8.1 and the
// authors' own code.
func TestLossesAgreeWithReferences(t *testing.T) {
	golden.Walk(t, "losses", func(t *testing.T, c *golden.Case) {
		best := ""
		for prefix := range goldenCases() {
			if strings.HasPrefix(c.Name, prefix) && len(prefix) > len(best) {
				best = prefix
			}
		}
		if best == "" {
			t.Fatalf("no loss known for case %q", c.Name)
		}
		goldenCases()[best](t, c)
	})
}

// Every case of losses on BRM and plain metrics.
func TestLossesOnMetricsAgreeWithReferences(t *testing.T) {
	golden.Walk(t, "brm", func(t *testing.T, c *golden.Case) {
		switch {
		case strings.HasPrefix(c.Name, "pairwise_"), strings.HasPrefix(c.Name, "query_gallery_"):
			t.Skip("a case of the metrics, not of the losses")
		case !strings.HasPrefix(c.Name, "losses_"):
			t.Fatalf("unknown case %q", c.Name)
		}
		goldenOnMetric(t, c)
	})
}

// goldenMetric reads the metric of a brm case.
func goldenMetric(t *testing.T, c *golden.Case) metric.Metric {
	t.Helper()
	if c.Params.Has("metric") {
		m, err := metric.Parse(c.Params.String("metric", ""))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	r, err := metric.ParseRestriction(c.Params.String("R", ""))
	if err != nil {
		t.Fatal(err)
	}
	return metric.Metric{
		Kind: metric.BRM, Restriction: r, Omega: c.Params.Float("w", 0),
		P: c.Params.Int("p", 2), Power: c.Params.String("on", "D") == "Dp",
	}
}

func goldenOnMetric(t *testing.T, c *golden.Case) {
	m := goldenMetric(t, c)
	x, labels := tensorRows(c.Inputs["embeddings"]), c.Inputs["labels"].Ints()
	golden.Close64(t, "matrix", pairwise(m, x, x), c.Outputs["matrix"], c.Tolerance)

	u, v := 0.0, c.Params.Float("margin_contrastive", 0)
	tau := c.Params.Float("margin_triplet", 0)
	for name, l := range map[string]Loss{
		"contrastive_mean_all":    &Contrastive{U: u, V: v, Joint: true, Reduction: MeanAll},
		"contrastive_avg_nonzero": &Contrastive{U: u, V: v},
		"triplet_mean_all":        &Triplet{Margin: tau, Reduction: MeanAll},
		"triplet_avg_nonzero":     &Triplet{Margin: tau},
		"npairs_all":              &NPairs{Temperature: 1},
		"npairs_classic":          &NPairs{Temperature: 1, Classic: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, dx := onBatch(t, l, m, x, labels, false)
			golden.Close64(t, "value", []float64{r.Value}, c.Outputs[name], c.Tolerance)
			golden.Close64(t, "gradient", dx.x, c.Outputs["grad_"+name], c.Tolerance)
			count := func(what string) int { return c.Outputs["count_"+what].Ints()[0] }
			want := map[string]int{
				// Ordered pairs here, unordered ones in the file.
				"contrastive_mean_all": 2 * (count("pos_pairs") + count("neg_pairs")),
				"triplet_mean_all":     count("triplets"),
				"npairs_all":           count("npairs_anchor_positive"),
				"npairs_classic":       count("npairs_classic_classes"),
			}
			if n, ok := want[name]; ok && r.Total != n {
				t.Errorf("%d terms, want %d", r.Total, n)
			}
			if name == "triplet_avg_nonzero" && r.Active != count("triplets_active") {
				t.Errorf("%d active triplets, want %d", r.Active, count("triplets_active"))
			}
		})
	}
}

// check64 compares a batch loss with the outputs value and grad_embeddings.
func check64(t *testing.T, c *golden.Case, r Result, dx rowsOf) {
	t.Helper()
	golden.Close64(t, "value", []float64{r.Value}, c.Outputs["value"], c.Tolerance)
	golden.Close64(t, "grad_embeddings", dx.x, c.Outputs["grad_embeddings"], c.Tolerance)
}

// batchInputs reads what every case on a batch has.
func batchInputs(c *golden.Case) (x rowsOf, labels []int) {
	return tensorRows(c.Inputs["embeddings"]), c.Inputs["labels"].Ints()
}

// distanceOf is D or, with power 2, its square.
func distanceOf(c *golden.Case) metric.Metric {
	if c.Params.Int("power", 1) == 2 {
		return squared
	}
	return euclidean
}

// reductionOf is AvgNonZero unless the case says mean.
func reductionOf(t *testing.T, c *golden.Case) Reduction {
	t.Helper()
	switch r := c.Params.String("reducer", ""); r {
	case "":
		return MeanNonZero
	case "mean":
		return MeanAll
	default:
		t.Fatalf("unknown reducer %q", r)
		return 0
	}
}

// onBatchGolden checks a loss that has nothing but a batch and one metric.
func onBatchGolden(t *testing.T, c *golden.Case, l Loss, m metric.Metric) {
	t.Helper()
	x, labels := batchInputs(c)
	r, dx := onBatch(t, l, m, x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}

// onClassesGolden checks a loss with class rows: input, (classes, h) or where
// columns is set (h, classes*perClass).
func onClassesGolden(t *testing.T, c *golden.Case, l Loss, m metric.Metric, input string, columns bool) {
	t.Helper()
	x, labels := batchInputs(c)
	p := tensorRows(c.Inputs[input])
	if columns {
		p = p.transposed()
	}
	r, dx, dp := onClasses(t, l, m, x, p, labels, PerClass(l), c.Params.Bool("normalize", true), true)
	if columns {
		dp = dp.transposed()
	}
	check64(t, c, r, dx)
	golden.Close64(t, "grad_"+input, dp.x, c.Outputs["grad_"+input], c.Tolerance)
}
