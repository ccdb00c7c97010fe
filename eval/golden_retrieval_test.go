package eval

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// TestGoldenFiles walks over every file of the family and gives it to the check
// of its kind.
func TestGoldenFiles(t *testing.T) {
	checks := map[string]func(*testing.T, *golden.Case){
		"retrieval_": checkRetrieval, "query_gallery_": checkRetrieval,
		"clustering_": checkClustering, "kmeans_": checkKMeans, "verification_": checkVerification,
	}
	golden.Walk(t, "eval", func(t *testing.T, c *golden.Case) {
		for prefix, check := range checks {
			if strings.HasPrefix(c.Name, prefix) {
				check(t, c)
				return
			}
		}
		t.Fatalf("%s: a kind of case that no check knows", c.Name)
	})
}

// set reads embeddings and their labels from a case.
func set(c *golden.Case, x, labels string) *Embeddings {
	in := c.Inputs[x]
	e := &Embeddings{N: in.Shape[0], H: in.Shape[1], Labels: c.Inputs[labels].Ints()}
	for _, v := range in.Data {
		e.X = append(e.X, float32(v))
	}
	return e
}

func goldenSets(t *testing.T, c *golden.Case) (queries, gallery *Embeddings, m metric.Metric, opt RetrievalOptions) {
	m, err := metric.Parse(c.Params.String("metric", ""))
	fatal(t, err)
	if _, ok := c.Inputs["query"]; ok {
		return set(c, "query", "query_labels"), set(c, "gallery", "gallery_labels"), m, opt
	}
	queries = set(c, "embeddings", "labels")
	opt.Self = LeaveOneOut(queries.N)
	return queries, queries, m, opt
}

func checkRetrieval(t *testing.T, c *golden.Case) {
	queries, gallery, m, opt := goldenSets(t, c)
	by := map[TieRule]*Retrieval{}
	for _, ties := range []TieRule{Pessimistic, Optimistic, IndexOrder} {
		opt.Ties = ties
		r, err := Retrieve(context.Background(), hostEngine{}, queries, gallery, m, opt)
		fatal(t, err)
		by[ties] = r
	}
	ks := c.Outputs["ks"].Ints()
	index := by[IndexOrder]
	recalls := func(r *Retrieval, at func(*Retrieval, int) float64) (v []float64) {
		for _, k := range ks {
			v = append(v, at(r, k))
		}
		return v
	}
	mean, class := index.Averages(), index.ClassAverages()
	got := map[string][]float64{
		"first_correct_rank":              floats(index.FirstRank),
		"recall_at_k_percent":             recalls(index, (*Retrieval).RecallAt),
		"recall_at_k_percent_optimistic":  recalls(by[Optimistic], (*Retrieval).RecallAt),
		"recall_at_k_percent_pessimistic": recalls(by[Pessimistic], (*Retrieval).RecallAt),
		"lone_queries":                    {float64(index.Lone)},
	}
	got["recall_at_k_percent_without_lone"] = recalls(index, (*Retrieval).RecallAtWithoutLone)
	for prefix, a := range map[string]Averages{"": mean, "pml_": mean, "pml_avg_of_class_avgs_": class} {
		got[prefix+"precision_at_1"] = []float64{a.PrecisionAt1}
		got[prefix+"r_precision"] = []float64{a.RPrecision}
		got[prefix+"mean_average_precision_at_r"] = []float64{a.MAPAtR}
		got[prefix+"mean_average_precision"] = []float64{a.MAP}
		got[prefix+"mean_reciprocal_rank"] = []float64{a.MRR}
	}
	if opt.Self != nil {
		geometry(t, queries, got)
	}
	for name, want := range c.Outputs {
		if got, ok := got[name]; ok {
			golden.Close64(t, name, got, want, c.Tolerance)
			continue
		}
		ownRecalls(t, c, name, by[Optimistic])
	}
}

// geometry adds the figures that depend on the embeddings alone.
func geometry(t *testing.T, e *Embeddings, got map[string][]float64) {
	pi, err := Pi(e)
	fatal(t, err)
	got["pi_intra"], got["pi_inter"], got["pi_ratio"] = []float64{pi.Intra}, []float64{pi.Inter}, []float64{pi.Ratio}
	s, err := SpectralDecay(e)
	fatal(t, err)
	got["singular_values"] = s.SingularValues
	got["spectral_decay_kl_uniform_to_spectrum"] = []float64{s.Decay}
}

// ownRecalls checks proxy_anchor_recall_percent_k_1_2_..., whose ks are in the
// name and whose rank is the optimistic one. What drops a row that is not the
// query has no counterpart here.
func ownRecalls(t *testing.T, c *golden.Case, name string, r *Retrieval) {
	switch {
	case name == "ks", name == "recall_at_k_percent_drop_first_not_self":
	case strings.HasPrefix(name, "proxy_anchor_"):
		_, list, _ := strings.Cut(name, "_k_")
		var got []float64
		for _, word := range strings.Split(list, "_") {
			var k int
			if _, err := fmt.Sscan(word, &k); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, r.RecallAt(k))
		}
		golden.Close64(t, name, got, c.Outputs[name], c.Tolerance)
	default:
		t.Errorf("%s: an output that no check knows", name)
	}
}

func floats(v []int) []float64 {
	f := make([]float64, len(v))
	for i, x := range v {
		f[i] = float64(x)
	}
	return f
}
