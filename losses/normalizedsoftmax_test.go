package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenNormalizedSoftmax(t *testing.T, c *golden.Case) {
	onClassesGolden(t, c, &NormalizedSoftmax{Temperature: c.Params.Float("temperature", 0)}, dot, "W", true)
}
