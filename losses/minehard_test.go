package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenBatchHard(t *testing.T, c *golden.Case) {
	l := &Triplet{Margin: c.Params.Float("loss_margin", 0), Miner: BatchHard{}}
	checkMined(t, c, BatchHard{}, l)
}
