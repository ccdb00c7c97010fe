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

// convNeXtConfig is transformerConfig for the first stages of a ConvNeXt.
func convNeXtConfig(t *testing.T) run.Config {
	t.Helper()
	c := transformerConfig(t)
	c.Model.Backbone, c.Model.Pool, c.Model.DropPath = "convnexttiny:trunk-end=features.3", "avg", 0.9
	return c
}

func TestANetworkWithDroppedPathsGoesOnAsIfItHadNeverStopped(t *testing.T) {
	resumedInTheMiddle(t, "transformer", transformerConfig(t))
	resumedInTheMiddle(t, "ConvNeXt", convNeXtConfig(t))
}

func TestMicroBatchesDropThePathsOfAWholeBatch(t *testing.T) {
	t.Run("transformer", func(t *testing.T) { droppedInParts(t, transformerConfig(t)) })
	t.Run("ConvNeXt", func(t *testing.T) { droppedInParts(t, convNeXtConfig(t)) })
}

func droppedInParts(t *testing.T, c run.Config) {
	t.Helper()
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
