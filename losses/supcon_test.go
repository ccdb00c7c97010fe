package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenSupCon(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &SupCon{Temperature: c.Params.Float("temperature", 0)}, dot)
}
