package serve

import (
	"context"
	"image"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/train"
)

// FromRun fills in what a run's embedded images say: gallery, pictures and
// embedding. close ends the use of the embedding; e stays open meanwhile.
func FromRun(e *train.Embedded, cfg train.Config) (c Config, close func() error, err error) {
	t, err := e.Table()
	if err != nil {
		return c, nil, err
	}
	pipeline, err := e.Model.Spec.Input.Evaluation()
	if err != nil {
		return c, nil, err
	}
	embedder, err := e.Model.NewEmbedder(1)
	if err != nil {
		return c, nil, err
	}
	numbers := make([]float32, pipeline.Size())
	c = Config{
		Gallery: t, Info: gallery.Info{Metric: t.Metric, Model: t.Model, Dim: t.H}, Engine: e.Model.Params.Engine(), MaxPixels: cfg.Data.MaxPixels,
		Picture: func(ctx context.Context, row int) (image.Image, error) { return e.Set.Load(ctx, row) },
		Embed: func(m *data.RGB) ([]float32, error) {
			var err error
			if cfg.Data.Shorter > 0 { // as in training
				if m, err = (data.Shrink{Size: cfg.Data.Shorter}).Apply(m, nil); err != nil {
					return nil, err
				}
			}
			if m, err = pipeline.Image(m, nil); err != nil {
				return nil, err
			}
			pipeline.Numbers(numbers, m)
			row, err := embedder.Embed(nil, numbers)
			if err != nil {
				return nil, err
			}
			return row, train.CheckFinite(row, "the image that was sent")
		},
	}
	if e.Model.Threshold != nil {
		c.Threshold = &e.Model.Threshold.Distance
	}
	return c, embedder.Close, nil
}
