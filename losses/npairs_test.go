package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenNPairs(t *testing.T, c *golden.Case) {
	x, labels := batchInputs(c)
	r, dx := onBatch(t, &NPairs{Temperature: 1, Classic: true}, dot, x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}
