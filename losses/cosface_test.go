package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenCosFace(t *testing.T, c *golden.Case) {
	onClassesGolden(t, c, &CosFace{Scale: c.Params.Float("scale", 0), Margin: c.Params.Float("margin", 0)}, dot, "W", true)
}
