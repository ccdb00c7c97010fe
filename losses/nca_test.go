package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenNCA(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &NCA{Scale: c.Params.Float("softmax_scale", 0)}, squared)
}
