package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenContrastive(t *testing.T, c *golden.Case) {
	l := &Contrastive{
		U: c.Params.Float("pos_margin", 0), V: c.Params.Float("neg_margin", 1),
		Reduction: reductionOf(t, c),
	}
	x, labels := batchInputs(c)
	r, dx := onBatch(t, l, distanceOf(c), x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}
