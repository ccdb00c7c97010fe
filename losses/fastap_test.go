package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenFastAP(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &FastAP{Bins: c.Params.Int("num_bins", 0), Max: 4}, squared)
}
