package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/model"
)

// probe measures a set again and again during a run. Its loader keeps small sets
// decoded.
type probe struct {
	set    *data.Set
	loader *data.Loader
}

// probes are made when they are first needed, and share one compiled network.
type probes struct {
	embedder         *model.Embedder
	validation, test *probe
}

func (p *probes) close() {
	if p.embedder != nil {
		p.embedder.Close()
	}
}

// validate returns Recall@1 and MAP@R in percent on the validation classes.
func (s *Session) validate(ctx context.Context) (recall1, mapAtR float64, err error) {
	r, err := s.measure(ctx, &s.probes.validation, s.sets.validation, "validation")
	if err != nil {
		return 0, 0, err
	}
	return r.RecallAtWithoutLone(1), 100 * r.Averages().MAPAtR, nil
}

// test measures the test classes in the middle of a run, as they are measured at its
// end.
func (s *Session) test(ctx context.Context) (*TestRecord, error) {
	if s.opt.AllTestFigures {
		return s.testAll(ctx)
	}
	r, err := s.measure(ctx, &s.probes.test, s.sets.test, "test classes")
	if err != nil {
		return nil, err
	}
	return &TestRecord{TestFigures: TestFigures{Recall1: r.RecallAt(1), MAPAtR: 100 * r.Averages().MAPAtR}}, nil
}

func (s *Session) measure(ctx context.Context, p **probe, set *data.Set, task string) (*eval.Retrieval, error) {
	if *p == nil {
		loader, err := s.loader(set, s.pipeline)
		if err != nil {
			return nil, err
		}
		*p = &probe{set, loader}
	}
	if s.probes.embedder == nil {
		embedder, err := s.model.NewEmbedder(evalBatch)
		if err != nil {
			return nil, err
		}
		s.probes.embedder = embedder
	}
	e, err := embedBy(ctx, s.probes.embedder, s.model.Spec.Dim, (*p).loader, len(set.Items), task, s.ev)
	if err != nil {
		return nil, err
	}
	r, err := eval.Retrieve(ctx, s.model.Params.Engine(), e.Embeddings, e.Embeddings, s.model.Spec.Metric, eval.RetrievalOptions{
		SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(e.N), Workers: s.opt.Workers},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", task, err)
	}
	return r, nil
}
