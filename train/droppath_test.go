package train

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

// transformerConfig trains the smallest vision transformer on small pictures, with rates by
// layer and dropped paths.
func transformerConfig(t *testing.T) run.Config {
	t.Helper()
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Backbone, c.Model.Pool, c.Model.Input.Size, c.Model.Input.Resize = "vitt32", "cls", 32, 0
	c.Model.DropPath, c.Optimizer.LayerDecay = 0.5, 0.8
	return c
}

func TestATransformerWithDroppedPathsGoesOnAsIfItHadNeverStopped(t *testing.T) {
	resumedInTheMiddle(t, "drop path", transformerConfig(t))
}

func TestMicroBatchesDropThePathsOfAWholeBatch(t *testing.T) {
	c := transformerConfig(t)
	c.Epochs, c.WarmupEpochs = 1, 0
	whole := begin(t, c)
	c.MicroBatch = 3
	parts := begin(t, c)
	trainAll(t, whole)
	trainAll(t, parts)
	want, got := all(t, whole), all(t, parts)
	for tensor := range want {
		for i, w := range want[tensor] {
			if math.Abs(float64(w-got[tensor][i])) > 2e-3*(1+math.Abs(float64(w))) {
				t.Fatalf("%s, number %d: %v in parts, %v as a whole", tensor, i, got[tensor][i], w)
			}
		}
	}
}
