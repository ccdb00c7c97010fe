package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

// curveRestarts are those of k-means at a point of a curve.
const curveRestarts = 3

// testAll is test with NMI, F1 and shuffled batches.
func (s *Session) testAll(ctx context.Context) (r *TestRecord, err error) {
	if s.tester == nil {
		if s.tester, err = s.testEmbedded(); err != nil {
			return nil, err
		}
	}
	e := s.tester
	opt := MeasureOptions{Selection: Selection{Options: s.opt}, Restarts: curveRestarts, Ks: []int{1}}
	rows, err := EmbedSet(ctx, s.model, e.loader, len(e.Set.Items), "test classes", s.ev)
	if err != nil {
		return nil, err
	}
	if err := rows.checkFinite(e.Set); err != nil {
		return nil, err
	}
	r = &TestRecord{}
	if r.TestFigures, err = e.testFigures(ctx, rows.Embeddings, opt); err != nil || s.model.Spec.Flow == "" {
		return r, err
	}
	embedder, err := s.model.NewMixedEmbedder("")
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

// testEmbedded is an Embedded of the test classes without embeddings. It owns no
// images.
func (s *Session) testEmbedded() (*Embedded, error) {
	e := &Embedded{Model: s.model, Set: s.sets.test, cfg: s.cfg, pipeline: s.pipeline, features: s.features}
	return e, e.open(data.LoaderOptions{Workers: s.opt.Workers})
}

func (e *Embedded) testFigures(ctx context.Context, x *eval.Embeddings, opt MeasureOptions) (TestFigures, error) {
	f, err := e.evaluate(ctx, "test classes", x, e.Model.Spec.Metric, opt)
	if err != nil {
		return TestFigures{}, fmt.Errorf("test classes: %w", err)
	}
	return TestFigures{Recall1: f.Recall[0].Percent, MAPAtR: 100 * f.MAPAtR, NMI: *f.NMI, F1: *f.F1}, nil
}
