package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenNTXent(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &NTXent{Temperature: c.Params.Float("temperature", 0)}, dot)
}
