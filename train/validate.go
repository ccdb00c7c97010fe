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

// trialImages is how many images stand for all where no others are measured.
const trialImages = 8

// tryModel embeds some images of the epoch's last batch, so that a model that gives
// no finite numbers is noticed before it is stored: its loss was that before the
// last update.
func (s *Session) tryModel(ctx context.Context) error {
	plan := s.sampler.Epoch(s.state.Position.Epoch)
	items := plan[s.batches(s.state.Position.Epoch)-1]
	items = items[:min(len(items), trialImages)]
	set := s.sets.fit.Select("last batch", items)
	loader, err := s.loaderOf(set, s.pipeline, len(items)) // training has judged which of them are bad
	if err != nil {
		return err
	}
	_, err = s.embed(ctx, &probe{set, loader}, "trying the model")
	return err
}

// embed embeds a probe's set. Numbers that are not finite are a *DivergedError.
func (s *Session) embed(ctx context.Context, p *probe, task string) (*Rows, error) {
	if s.probes.embedder == nil {
		most := evalBatch
		if s.sets.validation == nil && s.cfg.Run.EvalEvery == 0 {
			most = trialImages
		}
		embedder, err := s.model.NewEmbedder(most)
		if err != nil {
			return nil, err
		}
		s.probes.embedder = embedder
	}
	e, err := embedBy(ctx, s.probes.embedder, s.model.Spec.Dim, p.loader, len(p.set.Items), task, s.ev)
	if err != nil {
		return nil, err
	}
	for i, v := range e.X {
		if !finite(float64(v)) {
			return nil, s.giveUp(&DivergedError{
				Step: s.opti.Steps(), What: fmt.Sprintf("the embedding of an image holds %v after this step", v),
				Image: p.set.Where(e.Items[i/e.H]),
			})
		}
	}
	return e, nil
}

func (s *Session) measure(ctx context.Context, p **probe, set *data.Set, task string) (*eval.Retrieval, error) {
	if *p == nil {
		loader, err := s.loader(set, s.pipeline)
		if err != nil {
			return nil, err
		}
		*p = &probe{set, loader}
	}
	e, err := s.embed(ctx, *p, task)
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
