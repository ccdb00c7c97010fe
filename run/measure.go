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
// task names it for progress. Of the options count Events and Comm.
func EmbedSet(ctx context.Context, m *model.Model, loader *data.Loader, images int, task string, opt Options) (*Rows, error) {
	embedder, err := m.NewEmbedder(min(EmbedBatchOf(m), images))
	if err != nil {
		return nil, err
	}
	defer embedder.Close()
	rows, err := EmbedWith(ctx, embedder, m.Spec.Dim, loader, images, task, opt)
	if err != nil {
		return nil, err
	}
	return rows, rows.compareBy(m)
}

// compareBy lets rows of a model with levels be compared by it.
func (r *Rows) compareBy(m *model.Model) (err error) {
	if m.HasLevels() {
		r.Distances, err = m.Distances()
	}
	return err
}

// EmbedWith is EmbedSet with an embedder that is kept.
func EmbedWith(ctx context.Context, embedder *model.Embedder, dim int, loader *data.Loader, images int, task string, opt Options) (*Rows, error) {
	table, reverse, pixels := loader.Bytes()
	if pixels {
		if err := embedder.TakePixels(engine.NewByteNumbers(table, reverse)); err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
	}
	c := collection{loader: loader, images: images, batch: max(EmbedBatch, embedder.Batch()), dim: dim, task: task, opt: opt}
	return c.rows(ctx, func(dst []float32, batch *data.Batch) ([]float32, error) {
		if pixels {
			return embedder.EmbedPixels(dst, batch.Pixels)
		}
		return embedder.Embed(dst, batch.Images)
	})
}

// RawSide is the largest picture whose pixels are compared.
const RawSide = 32

// RawPixels treats the pictures themselves, cut out as for the network, at most
// 32 x 32 pixels large and with values 0..1, as embeddings: the plainest
// baseline there is. Of a set of gray pictures one channel is taken, which
// changes no cosine. Of a set of rows of numbers it returns these.
func RawPixels(ctx context.Context, set *data.Set, p backbone.Preprocessing, maxBad int, opt Options) (*eval.Embeddings, error) {
	var pipeline *transform.Pipeline
	h := set.Width()
	if h == 0 {
		var err error
		if pipeline, err = p.WithSize(min(p.Size, RawSide)).Recipe().Eval(transform.UnitRange()); err != nil {
			return nil, err
		}
		h = pipeline.Size()
	}
	loader, err := data.NewLoader(set, pipeline, data.LoaderOptions{Workers: opt.Workers, MaxBad: maxBad})
	if err != nil {
		return nil, err
	}
	opt.Events = nil // it is soon done
	c := collection{loader: loader, images: len(set.Items), batch: EmbedBatch, dim: h, task: rawPixels, opt: opt}
	e, err := c.rows(ctx, func(dst []float32, batch *data.Batch) ([]float32, error) { return append(dst, batch.Images...), nil })
	switch {
	case err != nil:
		return nil, err
	case set.Width() > 0:
		return e.Embeddings, nil
	}
	return oneChannel(e.Embeddings), nil
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
// read are left out, each with a warning. Of the options count Workers, Events and Comm.
func EmbedImages(ctx context.Context, m *model.Model, set *data.Set, maxBad int, opt Options) (*Rows, error) {
	if have, want := set.Width(), m.Width(); have != want && have > 0 && want > 0 {
		return nil, fmt.Errorf("%s has rows of %d numbers, the model takes %d", set.Name, have, want)
	}
	pipeline, err := m.Spec.Input.Evaluation()
	if err != nil {
		return nil, err
	}
	_, pixels := m.Params.Engine().(engine.Feeder)
	loader, err := data.NewLoader(set, pipeline, data.LoaderOptions{Workers: opt.Workers, MaxBad: maxBad, Pixels: pixels})
	if err != nil {
		return nil, err
	}
	rows, err := EmbedSet(ctx, m, loader, len(set.Items), "embedding", opt)
	if err != nil {
		return nil, err
	}
	if err := rows.CheckFinite(set); err != nil {
		return nil, err
	}
	return rows, rows.warnLeftOut(set, loader.Bad(), opt.Events)
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
