package serve

import (
	"context"
	"image"

	"github.com/vernier-ml/vernier"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/run"
)

// FromRun fills in what a run's embedded images or rows say: gallery, pictures and
// embedding. close ends the use of the embedding; e stays open meanwhile.
func FromRun(e *run.Embedded, cfg run.Config) (c Config, close func() error, err error) {
	t, err := e.Table()
	if err != nil {
		return c, nil, err
	}
	c = Config{Gallery: t, Info: gallery.Info{Metric: t.Metric, Model: t.Model, Dim: t.H}, Engine: e.Model.Params.Engine()}
	if e.Model.Threshold != nil {
		c.Threshold = &e.Model.Threshold.Distance
	}
	if c.Width = e.Model.Width(); c.Width > 0 {
		embedder, err := e.Model.NewEmbedder(1)
		if err != nil {
			return c, nil, err
		}
		c.EmbedRow = func(_ context.Context, row []float32) ([]float32, error) { return embedder.Embed(nil, row) }
		return c, embedder.Close, nil
	}
	m, err := vernier.New(e.Model, vernier.WithMaxPixels(cfg.Data.MaxPixels))
	if err != nil {
		return c, nil, err
	}
	c.MaxPixels = cfg.Data.MaxPixels
	c.Picture = func(ctx context.Context, row int) (image.Image, error) { return e.Set.Load(ctx, row) }
	c.Embed = func(ctx context.Context, img *pixels.RGB) ([]float32, error) {
		rows, err := m.Embed(ctx, vernier.Picture(img))
		if err != nil {
			return nil, err
		}
		return rows[0], nil
	}
	return c, m.Close, nil
}
