package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/model"
)

// EmbedBatch is the number of images that are embedded at once.
const EmbedBatch = 64

// Rows are embeddings and the items of the set that they are of.
type Rows struct {
	*eval.Embeddings
	Items []int
}

// EmbedSet embeds every readable image of a set, in order; images is the number of all.
// task names it for progress.
func EmbedSet(ctx context.Context, m *model.Model, loader *data.Loader, images int, task string, ev Events) (*Rows, error) {
	embedder, err := m.NewEmbedder(min(EmbedBatchOf(m), images))
	if err != nil {
		return nil, err
	}
	defer embedder.Close()
	return EmbedWith(ctx, embedder, m.Spec.Dim, loader, images, task, ev)
}

// EmbedWith is EmbedSet with an embedder that is kept.
func EmbedWith(ctx context.Context, embedder *model.Embedder, dim int, loader *data.Loader, images int, task string, ev Events) (*Rows, error) {
	e := &Rows{Embeddings: &eval.Embeddings{H: dim, X: make([]float32, 0, images*dim)}}
	table, reverse, pixels := loader.Bytes()
	if pixels {
		if err := embedder.TakePixels(engine.NewByteNumbers(table, reverse)); err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
	}
	for batch, err := range loader.All(ctx, max(EmbedBatch, embedder.Batch())) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		var err error
		if pixels {
			e.X, err = embedder.EmbedPixels(e.X, batch.Pixels)
		} else {
			e.X, err = embedder.Embed(e.X, batch.Images)
		}
		if err != nil {
			return nil, err
		}
		e.Labels = append(e.Labels, batch.Labels...)
		e.Items = append(e.Items, batch.Items...)
		batch.Recycle()
		OrSilent(ev).Progress(task, len(e.Labels), images, "")
	}
	e.N = len(e.Labels)
	if e.N < images {
		OrSilent(ev).Progress(task, images, images, "")
	}
	return e, nil
}

// RawSide is the largest picture whose pixels are compared.
const RawSide = 32

// RawPixels treats the pictures themselves, cut out as for the network, at most
// 32 x 32 pixels large and with values 0..1, as embeddings: the plainest
// baseline there is. Of a set of gray pictures one channel is taken, which
// changes no cosine. Of a set of rows of numbers it returns these.
func RawPixels(ctx context.Context, set *data.Set, p backbone.Preprocessing, opt data.LoaderOptions) (*eval.Embeddings, error) {
	var pipeline *transform.Pipeline
	e := &eval.Embeddings{H: set.Width()}
	if e.H == 0 {
		var err error
		if pipeline, err = p.WithSize(min(p.Size, RawSide)).Recipe().Eval(transform.UnitRange()); err != nil {
			return nil, err
		}
		e.H = pipeline.Size()
	}
	loader, err := data.NewLoader(set, pipeline, opt)
	if err != nil {
		return nil, err
	}
	for batch, err := range loader.All(ctx, EmbedBatch) {
		if err != nil {
			return nil, fmt.Errorf("raw pixels: %w", err)
		}
		e.X = append(e.X, batch.Images...)
		e.Labels = append(e.Labels, batch.Labels...)
		batch.Recycle()
	}
	e.N = len(e.Labels)
	if set.Width() > 0 {
		return e, nil
	}
	return oneChannel(e), nil
}

// oneChannel drops the second and third plane of every row if they all equal
// the first.
func oneChannel(e *eval.Embeddings) *eval.Embeddings {
	plane := e.H / 3
	for i := range e.N {
		row := e.Row(i)
		if !slices.Equal(row[:plane], row[plane:2*plane]) || !slices.Equal(row[:plane], row[2*plane:]) {
			return e
		}
	}
	gray := &eval.Embeddings{X: make([]float32, 0, e.N*plane), N: e.N, H: plane, Labels: e.Labels}
	for i := range e.N {
		gray.X = append(gray.X, e.Row(i)[:plane]...)
	}
	return gray
}

// EmbedImages embeds images as a model wants them prepared; an embedding that is not
// finite is a *NotFiniteError. Up to maxBad that cannot be
// read are left out, each with a warning.
func EmbedImages(ctx context.Context, m *model.Model, set *data.Set, maxBad, workers int, ev Events) (*Rows, error) {
	if have, want := set.Width(), m.Width(); have != want && have > 0 && want > 0 {
		return nil, fmt.Errorf("%s has rows of %d numbers, the model takes %d", set.Name, have, want)
	}
	pipeline, err := m.Spec.Input.Evaluation()
	if err != nil {
		return nil, err
	}
	_, pixels := m.Params.Engine().(engine.Feeder)
	loader, err := data.NewLoader(set, pipeline, data.LoaderOptions{Workers: workers, MaxBad: maxBad, Pixels: pixels})
	if err != nil {
		return nil, err
	}
	rows, err := EmbedSet(ctx, m, loader, len(set.Items), "embedding", ev)
	if err != nil {
		return nil, err
	}
	if err := rows.CheckFinite(set); err != nil {
		return nil, err
	}
	return rows, rows.warnLeftOut(set, loader.Bad(), ev)
}

// warnLeftOut names the images of a set that could not be read. That none could is an
// error.
func (r *Rows) warnLeftOut(set *data.Set, bad []data.BadImage, ev Events) error {
	for _, b := range bad {
		OrSilent(ev).Warn("left out %s: %s", b.Path, b.Reason)
	}
	if len(r.Items) == 0 {
		return fmt.Errorf("%s: none of %s can be read", set.Name, plural.Of(len(set.Items), "image"))
	}
	return nil
}

// leftOut lists the paths of the items of a set that the rows lack.
func (r *Rows) leftOut(set *data.Set) []string {
	have := make([]bool, len(set.Items))
	for _, i := range r.Items {
		have[i] = true
	}
	var paths []string
	for i, it := range set.Items {
		if !have[i] {
			paths = append(paths, it.Path)
		}
	}
	return paths
}
