package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/model"
)

// evalBatch is the number of images that are embedded at once.
const evalBatch = 64

// EmbedSet embeds every image of a set, in order. task names it for progress.
func EmbedSet(ctx context.Context, m *model.Model, loader *data.Loader, images int, task string, ev Events) (*eval.Embeddings, error) {
	embedder, err := m.NewEmbedder(min(evalBatch, images))
	if err != nil {
		return nil, err
	}
	defer embedder.Close()
	e := &eval.Embeddings{H: m.Spec.Dim}
	for batch, err := range loader.All(ctx, evalBatch) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		if e.X, err = embedder.Embed(e.X, batch.Images); err != nil {
			return nil, err
		}
		e.Labels = append(e.Labels, batch.Labels...)
		batch.Recycle()
		ev.Progress(task, len(e.Labels), images, "")
	}
	e.N = len(e.Labels)
	if e.N < images {
		ev.Progress(task, images, images, "")
	}
	return e, nil
}

// rawPixels treats the prepared images themselves as embeddings, the plainest
// baseline there is.
func rawPixels(ctx context.Context, loader *data.Loader, pipeline *data.Pipeline) (*eval.Embeddings, error) {
	e := &eval.Embeddings{H: pipeline.Size()}
	for batch, err := range loader.All(ctx, evalBatch) {
		if err != nil {
			return nil, fmt.Errorf("raw pixels: %w", err)
		}
		e.X = append(e.X, batch.Images...)
		e.Labels = append(e.Labels, batch.Labels...)
		batch.Recycle()
	}
	e.N = len(e.Labels)
	return e, nil
}
