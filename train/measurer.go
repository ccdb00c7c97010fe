package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
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

// measurer measures the model while it is trained.
type measurer struct {
	*setup
	feeder  *feeder
	stepper *stepper
	probes  probes
	tester  *run.Embedded // of the test classes, made at the first point of a curve with all figures
}

// validate returns Recall@1 and MAP@R in percent on the validation classes.
func (s *measurer) validate(ctx context.Context) (recall1, mapAtR float64, err error) {
	r, err := s.measure(ctx, &s.probes.validation, s.sets.Validation, "validation")
	if err != nil {
		return 0, 0, err
	}
	return r.RecallAtWithoutLone(1), 100 * r.Averages().MAPAtR, nil
}

// test measures the test classes in the middle of a run, as they are measured at its
// end.
func (s *measurer) test(ctx context.Context) (*run.TestRecord, error) {
	if s.opt.AllTestFigures {
		return s.testAll(ctx)
	}
	r, err := s.measure(ctx, &s.probes.test, s.sets.Test, "test classes")
	if err != nil {
		return nil, err
	}
	return &run.TestRecord{TestFigures: run.TestFigures{Recall1: r.RecallAt(1), MAPAtR: 100 * r.Averages().MAPAtR}}, nil
}

// trialImages is how many images stand for all where no others are measured.
const trialImages = 8

// tryModel embeds some images of the epoch's last batch, so that a model that gives
// no finite numbers is noticed before it is stored: its loss was that before the
// last update.
func (s *measurer) tryModel(ctx context.Context) error {
	plan := s.sampler.Epoch(s.state.Position.Epoch)
	items := plan[s.batches(s.state.Position.Epoch)-1]
	items = items[:min(len(items), trialImages)]
	set := s.sets.Train.Select("last batch", items)
	loader, err := s.feeder.loaderOf(set, s.pipeline, len(items)) // training has judged which of them are bad
	if err != nil {
		return err
	}
	_, err = s.embed(ctx, &probe{set, loader}, "trying the model")
	return err
}

// embed embeds a probe's set. Numbers that are not finite are a *DivergedError.
func (s *measurer) embed(ctx context.Context, p *probe, task string) (*run.Rows, error) {
	if s.probes.embedder == nil {
		most := run.EmbedBatchOf(s.model)
		if s.sets.Validation == nil && s.cfg.Run.EvalEvery == 0 {
			most = trialImages
		}
		embedder, err := s.model.NewEmbedder(most)
		if err != nil {
			return nil, err
		}
		s.probes.embedder = embedder
	}
	e, err := run.EmbedWith(ctx, s.probes.embedder, s.model.Spec.Dim, p.loader, len(p.set.Items), task, s.opt.run())
	if err != nil {
		return nil, err
	}
	if s.model.HasLevels() {
		if e.Distances, err = s.model.Distances(); err != nil {
			return nil, err
		}
	}
	for i, v := range e.X {
		if !finite.Is(float64(v)) {
			return nil, s.giveUp(&DivergedError{
				Step: s.stepper.opti.Steps(), What: fmt.Sprintf("the embedding of an image holds %v after this step", v),
				Image: p.set.Where(e.Items[i/e.H]),
			})
		}
	}
	return e, nil
}

func (s *measurer) measure(ctx context.Context, p **probe, set *data.Set, task string) (*eval.Retrieval, error) {
	if *p == nil {
		loader, err := s.feeder.loader(set, s.pipeline)
		if err != nil {
			return nil, err
		}
		*p = &probe{set, loader}
	}
	e, err := s.embed(ctx, *p, task)
	if err != nil {
		return nil, err
	}
	items := make([]data.Item, e.N) // without those that cannot be read
	for i, at := range e.Items {
		items[i] = set.Items[at]
	}
	sides := run.NewSides(items, e.Embeddings)
	gallery, search := sides.Search()
	search.Workers, search.Comm = s.opt.Workers, s.comm
	r, err := eval.Retrieve(ctx, s.model.Params.Engine(), sides.Queries, gallery, s.model.Spec.Metric, eval.RetrievalOptions{SearchOptions: search})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", task, err)
	}
	return r, nil
}

// testAll is test with NMI, F1 and shuffled batches.
func (s *measurer) testAll(ctx context.Context) (*run.TestRecord, error) {
	if s.tester == nil {
		var err error
		if s.tester, err = run.NewUnmeasured(s.cfg, s.model, s.sets.Test, s.pipeline, s.feeder.features, s.opt.Workers); err != nil {
			return nil, err
		}
	}
	return s.tester.Point(ctx, s.opt.run())
}
