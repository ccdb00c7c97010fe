package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenTriplet(t *testing.T, c *golden.Case) {
	l := &Triplet{
		Margin: c.Params.Float("margin", 0),
		Swap:   c.Params.Bool("swap", false), Smooth: c.Params.Bool("smooth", false),
		Reduction: reductionOf(t, c),
	}
	x, labels := batchInputs(c)
	r, dx := onBatch(t, l, distanceOf(c), x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}
