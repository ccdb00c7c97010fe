package eval

import (
	"context"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

func checkOutputs(t *testing.T, c *golden.Case, got map[string][]float64) {
	t.Helper()
	for name, want := range c.Outputs {
		if v, ok := got[name]; ok {
			golden.Close64(t, name, v, want, c.Tolerance)
		} else {
			t.Errorf("%s: an output that no check knows", name)
		}
	}
}

func checkClustering(t *testing.T, c *golden.Case) {
	a, err := CompareClusters(c.Inputs["truth"].Ints(), c.Inputs["assignment"].Ints())
	fatal(t, err)
	checkOutputs(t, c, map[string][]float64{
		"nmi": {a.NMI}, "sec_nmi": {a.NMI}, "ami": {a.AMI}, "ari": {a.ARI}, "mutual_info_nats": {a.MutualInformation},
		"homogeneity": {a.Homogeneity}, "completeness": {a.Completeness}, "v_measure": {a.VMeasure},
		"fowlkes_mallows": {a.FowlkesMallows}, "purity": {a.Purity}, "pairwise_f1": {a.PairwiseF1}, "sec_f1": {a.PairwiseF1},
		"pair_tp": {a.Pairs.TP}, "pair_fp": {a.Pairs.FP}, "pair_fn": {a.Pairs.FN},
	})
}

func checkKMeans(t *testing.T, c *golden.Case) {
	e := set(c, "embeddings", "labels")
	k, err := lloyd(context.Background(), hostEngine{}, e, metric.Metric{Kind: metric.SquaredEuclidean}, c.Inputs["init"].Data)
	fatal(t, err)
	a, err := CompareClusters(e.Labels, k.Assignment)
	fatal(t, err)
	checkOutputs(t, c, map[string][]float64{"assignment": floats(k.Assignment), "centers": k.Centers, "inertia": {k.Inertia}, "nmi": {a.NMI}})
}

func checkVerification(t *testing.T, c *golden.Case) {
	var same []bool
	for _, s := range c.Inputs["same"].Ints() {
		same = append(same, s == 1)
	}
	r, err := NewROC(c.Inputs["distance"].Data, same)
	fatal(t, err)
	eer, _ := r.EER()
	nearest, _ := r.EERNearest()
	accuracy, _ := r.BestAccuracy()
	got := map[string][]float64{
		"roc_fpr": r.FAR, "roc_tpr": r.TAR, "roc_threshold_distance": r.Threshold, "auc": {r.AUC()},
		"eer_interpolated": {eer}, "eer_nearest_point": {nearest}, "best_accuracy": {accuracy}, "average_precision": {r.AveragePrecision()},
		"positives": {float64(r.Positives)}, "negatives": {float64(r.Negatives)}, "far_targets": c.Outputs["far_targets"].Data,
	}
	for _, far := range c.Outputs["far_targets"].Data {
		step, _ := r.TARAt(far)
		got["tar_at_far_step"] = append(got["tar_at_far_step"], step)
		got["tar_at_far_linear"] = append(got["tar_at_far_linear"], r.TARAtLinear(far))
	}
	checkOutputs(t, c, got)
	if math.IsNaN(eer) {
		t.Error("the equal error rate is no number")
	}
}
