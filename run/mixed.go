package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/model"
)

// MixedResults are figures of a model with geometry flow that is fed the images
// it is measured on a batch at a time, as in training, so that an embedding
// depends on the images beside it. They say how much a batch tells the network;
// they are not what a single image can expect, and not Recall@K as others
// report it.
type MixedResults struct {
	// Batch is the number of images that pass through the network together, as in
	// training unless MeasureOptions say otherwise; the last ones may be fewer.
	Batch int    `json:"batch"`
	Flow  string `json:"flow"`
	// Trained says whether the model was trained with that flow.
	Trained bool `json:"trained"`
	// Shuffled has the images in an order drawn by the run's seed.
	Shuffled *eval.Figures `json:"shuffled"`
	// ClassSorted has them ordered by class: a batch then says which images
	// belong together, which is what is being asked.
	ClassSorted *eval.Figures `json:"class_sorted"`
}

// Orders of images, as they stand in the figures' split.
const (
	shuffledBatches    = "shuffled"
	classSortedBatches = "class-sorted"
)

// mixed measures a model in both orders, with its own geometry flow or that of opt.
func (e *Embedded) mixed(ctx context.Context, opt MeasureOptions) (*MixedResults, error) {
	embedder, err := e.Model.NewMixedEmbedder(opt.Flow)
	if err != nil {
		return nil, err
	}
	defer embedder.Close()
	r := &MixedResults{Batch: e.mixedBatch(opt), Flow: embedder.Flow()}
	if own := e.Model.Spec.Flow; own != "" {
		f, err := backbone.ParseFlow(own)
		if err != nil {
			return nil, err
		}
		r.Trained = f.String() == r.Flow
	}
	shuffled, sorted := e.orders()
	for _, m := range []struct {
		name  string
		order []int
		to    **eval.Figures
	}{{shuffledBatches, shuffled, &r.Shuffled}, {classSortedBatches, sorted, &r.ClassSorted}} {
		rows, err := e.embedMixed(ctx, embedder, m.order, r.Batch, m.name+" batches", opt)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("%s, in %s batches of %d through geometry flow", opt.describe(), m.name, r.Batch)
		if *m.to, err = e.evaluateAs(ctx, m.name+" batches", what, rows, e.Model.Spec.Metric, opt); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// mixedBatch is the number of images that are mixed.
func (e *Embedded) mixedBatch(opt MeasureOptions) int {
	if opt.FlowBatch > 0 {
		return opt.FlowBatch
	}
	return e.cfg.Batch()
}

// orders are the images of the set in an order drawn by the run's seed, and by
// class.
func (e *Embedded) orders() (shuffled, sorted []int) {
	sorted = make([]int, len(e.Set.Items))
	for i := range sorted {
		sorted[i] = i
	}
	shuffled = slices.Clone(sorted)
	rand.New(rand.NewPCG(e.cfg.Seed, 0x6d69786564)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortStableFunc(sorted, func(i, j int) int { return e.Set.Items[i].Label - e.Set.Items[j].Label })
	return shuffled, sorted
}

// embedMixed embeds the images of the set in the given order, a batch at a time.
// The rows are in the order of the set.
func (e *Embedded) embedMixed(ctx context.Context, embedder *model.MixedEmbedder, order []int, batch int, task string, opt MeasureOptions) (*eval.Embeddings, error) {
	loader, err := data.NewLoader(e.Set.Select(e.Set.Name, order), e.pipeline, data.LoaderOptions{Workers: opt.Workers})
	if err != nil {
		return nil, err
	}
	h := e.Model.Spec.Dim
	rows := &eval.Embeddings{N: len(order), H: h, X: make([]float32, len(order)*h), Labels: e.Set.Labels()}
	var x []float32
	for b, err := range loader.All(ctx, batch) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		if x, err = embedder.Embed(x[:0], b.Images); err != nil {
			return nil, err
		}
		for k, item := range b.Items {
			if err := CheckFinite(x[k*h:(k+1)*h], e.Set.Where(order[item])); err != nil {
				return nil, err
			}
			copy(rows.X[order[item]*h:], x[k*h:(k+1)*h])
		}
		done := b.Items[len(b.Items)-1] + 1
		b.Recycle()
		OrSilent(opt.Events).Progress(task, done, len(order), "")
	}
	return rows, nil
}
