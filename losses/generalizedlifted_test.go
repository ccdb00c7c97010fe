package losses

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenGeneralizedLifted(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &GeneralizedLifted{PosMargin: c.Params.Float("pos_margin", 0), NegMargin: c.Params.Float("neg_margin", 0)}, euclidean)
}
