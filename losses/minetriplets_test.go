package losses

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// goldenWindow checks the mined triplets, the loss on the list and the loss
// that looks through the window without a list.
func goldenWindow(t *testing.T, c *golden.Case) {
	kinds := map[string]func(float64) Window{"all": AllWithin, "hard": Hard, "semihard": SemiHard, "easy": Easy}
	kind, _, _ := strings.Cut(strings.TrimPrefix(c.Name, "miner_triplet_"), "_")
	make, ok := kinds[kind]
	if !ok {
		t.Fatalf("unknown window %q", kind)
	}
	w := make(c.Params.Float("miner_margin", 0))
	margin := c.Params.Float("loss_margin", 0)
	checkMined(t, c, w, &Triplet{Margin: margin, Miner: w}, &Triplet{Margin: margin, Window: &w})
}

// checkMined compares a miner's list, and losses on it, with a golden case.
func checkMined(t *testing.T, c *golden.Case, miner TripletMiner, losses ...Loss) {
	t.Helper()
	x, labels := batchInputs(c)
	var mined Triplets
	if err := miner.Mine(batch(euclidean, x.normalized(), labels), &mined); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]int{"anchor": mined.Anchor, "positive": mined.Positive, "negative": mined.Negative} {
		if want := c.Outputs[name].Ints(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, l := range losses {
		r, dx := onBatch(t, l, euclidean, x, labels, true)
		golden.Close64(t, "triplet_loss", []float64{r.Value}, c.Outputs["triplet_loss"], c.Tolerance)
		golden.Close64(t, "grad_embeddings", dx.x, c.Outputs["grad_embeddings"], c.Tolerance)
	}
}

func goldenBatchHard(t *testing.T, c *golden.Case) {
	l := &Triplet{Margin: c.Params.Float("loss_margin", 0), Miner: BatchHard{}}
	checkMined(t, c, BatchHard{}, l)
}
