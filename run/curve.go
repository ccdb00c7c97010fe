package run

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/model"
)

// curveRestarts are those of k-means at a point of a curve.
const curveRestarts = 3

// NewUnmeasured is an Embedded of a set, in a run's settings, that has no embeddings
// yet: Point measures it as often as its model changes. It owns no images.
func NewUnmeasured(cfg Config, m *model.Model, set *data.Set, pipeline *transform.Pipeline, features *data.Features, workers int) (*Embedded, error) {
	e := &Embedded{Model: m, Set: set, cfg: cfg, pipeline: pipeline, Features: features}
	return e, e.open(data.LoaderOptions{Workers: workers})
}

// Point measures the model as it is now for a point of a curve: Recall@1, MAP@R, NMI
// and F1, and of a model with geometry flow those of shuffled batches, too.
func (e *Embedded) Point(ctx context.Context, run Options) (r *TestRecord, err error) {
	opt := MeasureOptions{Selection: Selection{Options: run}, Restarts: curveRestarts, Ks: []int{1}}
	rows, err := EmbedSet(ctx, e.Model, e.loader, len(e.Set.Items), "test classes", run)
	if err != nil {
		return nil, err
	}
	if err := rows.CheckFinite(e.Set); err != nil {
		return nil, err
	}
	r = &TestRecord{}
	if r.TestFigures, err = e.testFigures(ctx, rows.Embeddings, opt); err != nil || e.Model.Spec.Flow == "" {
		return r, err
	}
	embedder, err := e.Model.NewMixedEmbedder("")
	if err != nil {
		return nil, err
	}
	defer embedder.Close()
	order, _ := e.orders()
	mixed, err := e.embedMixed(ctx, embedder, order, e.mixedBatch(opt), "test classes, mixed", opt)
	if err != nil {
		return nil, err
	}
	shuffled, err := e.testFigures(ctx, mixed, opt)
	r.Shuffled = &shuffled
	return r, err
}

func (e *Embedded) testFigures(ctx context.Context, x *eval.Embeddings, opt MeasureOptions) (TestFigures, error) {
	f, err := e.evaluate(ctx, "test classes", x, e.Model.Spec.Metric, opt)
	if err != nil {
		return TestFigures{}, fmt.Errorf("test classes: %w", err)
	}
	t := TestFigures{Recall1: f.Recall[0].Percent, MAPAtR: 100 * f.MAPAtR}
	if f.NMI != nil { // there is none of a model with levels
		t.NMI, t.F1 = *f.NMI, *f.F1
	}
	return t, nil
}
