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
	return s.measure(ctx, &s.probes.validation, s.sets.validation, "validation")
}

// test measures the test classes in the middle of a run.
func (s *Session) test(ctx context.Context) (*TestRecord, error) {
	r, m, err := s.measure(ctx, &s.probes.test, s.sets.test, "test classes")
	return &TestRecord{r, m}, err
}

func (s *Session) measure(ctx context.Context, p **probe, set *data.Set, task string) (recall1, mapAtR float64, err error) {
	if *p == nil {
		loader, err := s.loader(set, s.pipeline)
		if err != nil {
			return 0, 0, err
		}
		*p = &probe{set, loader}
	}
	if s.probes.embedder == nil {
		if s.probes.embedder, err = s.model.NewEmbedder(evalBatch); err != nil {
			return 0, 0, err
		}
	}
	e, err := embedBy(ctx, s.probes.embedder, s.model.Spec.Dim, (*p).loader, len(set.Items), task, s.ev)
	if err != nil {
		return 0, 0, err
	}
	r, err := eval.Retrieve(ctx, s.model.Params.Engine(), e.Embeddings, e.Embeddings, s.model.Spec.Metric, eval.RetrievalOptions{
		SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(e.N), Workers: s.opt.Workers},
	})
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", task, err)
	}
	return r.RecallAtWithoutLone(1), 100 * r.Averages().MAPAtR, nil
}
