package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/probe"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// Results are the figures of a run, each set of embeddings compared by its own
// metric, all on the same images.
type Results struct {
	// Epoch of the model, from 1; 0 is the untrained network.
	Epoch int    `json:"epoch"`
	Data  string `json:"data"`
	// Engine computed the figures, and of a run the last steps.
	Engine engine.Info `json:"engine"`

	// Seen says what of another set than the run's own was for training; nil of its
	// own, and where that is gone.
	Seen *Seen `json:"seen,omitempty"`

	Model *eval.Figures `json:"model"`
	// Averaged says that the model above has averaged weights.
	Averaged bool `json:"averaged,omitempty"`
	// Last is the model of the last epoch, LastEpoch, as it was trained, LastEMA the one with
	// averaged weights, where these are not the one above.
	Last      *eval.Figures `json:"last,omitempty"`
	LastEMA   *eval.Figures `json:"last_ema,omitempty"`
	LastEpoch int           `json:"last_epoch,omitempty"`
	// RawPixels are of the pixels of the prepared picture, at most 32 x 32, by cosine; or
	// with Rows, where the set has rows of numbers, of these as they are.
	RawPixels *eval.Figures `json:"raw_pixels"`
	Rows      bool          `json:"rows,omitempty"`
	// Untrained is the network before its first step, with the weights that it started
	// from; nil if these are gone. With Options.ModelOnly both are nil.
	Untrained *eval.Figures `json:"untrained"`
	// GeometryFlow holds, for a model with geometry flow, what it makes of whole
	// batches. Model and Untrained are of each image alone.
	GeometryFlow *MixedResults `json:"geometry_flow,omitempty"`
	// Preset is the recipe that the run began with, and what is reported for it;
	// nil without one.
	Preset *PresetFigures `json:"preset,omitempty"`
}

// PresetFigures are what is reported for the recipe of a run.
type PresetFigures struct {
	Name string `json:"name"`
	Data string `json:"data"` // the kind of data set that they are of
	// Same says whether the run was trained and measured on that kind, with the
	// recipe's backbone: only then can figures be compared.
	Same      bool        `json:"same"`
	Published []Published `json:"published"`
}

// presetFigures looks up the recipe of a configuration.
func (c Config) presetFigures(measured string) (*PresetFigures, error) {
	if c.Preset == "" {
		return nil, nil
	}
	p, err := LoadPreset(c.Preset)
	if err != nil {
		return nil, err
	}
	its, err := p.Config()
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(measured, ":")
	return &PresetFigures{Name: p.Name, Data: p.Data, Same: kind == p.Data && nameOf(its.Model.Backbone) == nameOf(c.Model.Backbone), Published: p.Published}, nil
}

// MeasureOptions say what Measure measures beside a Selection.
type MeasureOptions struct {
	Selection
	Ks       []int           // of Recall@K, nil for 1, 2, 4, 8
	Restarts int             // of k-means, 0 for 20
	Center   eval.CenterRule // of k-means
	Ties     eval.TieRule
	// Rerank are ways of re-ranking, whose figures are added to those of the model.
	Rerank []eval.Reranker
	// Probe, if not nil, adds votes of neighbors and what else package probe measures to
	// every set of figures. Its Seed, Search and Progress do not count.
	Probe *probe.Options
	// PerClass adds the figures of each class to those of the model.
	PerClass bool
	// Flow mixes batches in place of the model's own geometry flow, or where it
	// has none: what of its gains does the mixing alone give?
	Flow string
	// FlowBatch is the number of images that are mixed, 0 for that of training.
	FlowBatch int
	seen      *Seen
}

// describe says what the images are, and whether some were for training.
func (o MeasureOptions) describe() string {
	text := o.Selection.describe()
	if o.seen != nil && o.seen.Images > 0 {
		text += fmt.Sprintf(", %d of %s were for training", o.seen.Images, plural.Of(o.seen.OfImages, "image"))
	}
	return text
}

// what says which images are measured, for reports.
func (e *Embedded) what(opt MeasureOptions) string {
	if e.Set.OneEach && opt.Data == "" && (opt.Split == "" || opt.Split == "test") {
		return "views of images that were held out"
	}
	return opt.describe()
}

// Measure evaluates a run's model beside the baselines.
func Measure(ctx context.Context, folder Folder, eng engine.Engine, opt MeasureOptions) (_ *Embedded, _ *Results, err error) {
	emb, err := Embed(ctx, folder, eng, opt.Selection)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			emb.Close()
		}
	}()
	if opt.seen, err = emb.Seen(ctx, opt.Selection); err != nil {
		return nil, nil, err
	}
	r, err := emb.figures(ctx, opt)
	if err != nil {
		return nil, nil, err
	}
	r.Seen = opt.seen
	r.Averaged = emb.Averaged
	if opt.ModelOnly {
		return emb, r, nil
	}
	if err := emb.last(ctx, folder, eng, opt, r); err != nil {
		return nil, nil, err
	}
	untrained, _, err := emb.cfg.InitialModel(eng)
	switch {
	case err == nil:
	case emb.cfg.Weights.Path != "": // a run outlives the file that it started from
		OrSilent(opt.Events).Warn("the network before training is not measured: %v", err)
		return emb, r, nil
	default:
		return nil, nil, err
	}
	if err := untrained.TakeInput(emb.Model); err != nil {
		return nil, nil, err
	}
	e, err := emb.rows(ctx, untrained, "before training", opt.Options)
	if err != nil {
		return nil, nil, err
	}
	if r.Untrained, err = emb.evaluate(ctx, "before training", e.Embeddings, emb.cfg.Model.Metric, opt); err != nil {
		return nil, nil, err
	}
	return emb, r, nil
}

// last measures the models of the last epoch beside the best.
func (e *Embedded) last(ctx context.Context, folder Folder, eng engine.Engine, opt MeasureOptions, r *Results) error {
	if !opt.Choice.IsBest() {
		return nil
	}
	for _, of := range []struct {
		choice   Choice
		what     string
		averaged bool
		figures  **eval.Figures
	}{{Last, "last epoch", false, &r.Last}, {LastEMA, "last epoch, averaged weights", true, &r.LastEMA}} {
		if of.averaged && e.cfg.EMA == 0 {
			continue
		}
		m, epoch, err := folder.LoadModel(eng, of.choice)
		if err != nil {
			return err
		}
		if epoch == e.Epoch && of.averaged == r.Averaged {
			continue // it is the best
		}
		if err := m.SetCrops(opt.Crops); err != nil {
			return err
		}
		rows, err := e.rows(ctx, m, of.what, opt.Options)
		if err != nil {
			return err
		}
		r.LastEpoch = epoch
		if *of.figures, err = e.evaluate(ctx, of.what, rows.Embeddings, m.Spec.Metric, opt); err != nil {
			return err
		}
	}
	return nil
}

// MeasureNetwork evaluates the network that a configuration describes as it is
// before training, beside raw pixels. Of the configuration only data, model,
// weights and seed count.
func MeasureNetwork(ctx context.Context, cfg Config, eng engine.Engine, opt MeasureOptions) (*Results, *model.Loaded, error) {
	if err := cfg.FetchWeights(ctx, opt.Events); err != nil {
		return nil, nil, err
	}
	m, loaded, err := cfg.InitialModel(eng)
	if err != nil {
		return nil, nil, err
	}
	emb, err := embedSelection(ctx, cfg, m, 0, opt.Selection)
	if err != nil {
		return nil, nil, err
	}
	defer emb.Close()
	r, err := emb.figures(ctx, opt)
	return r, loaded, err
}

// figures measures the model and raw pixels.
func (e *Embedded) figures(ctx context.Context, opt MeasureOptions) (*Results, error) {
	r := &Results{Epoch: e.Epoch, Data: e.Set.Name, Engine: e.Model.Params.Engine().Info()}
	measured := e.cfg.Data.Spec
	if opt.Data != "" {
		measured = opt.Data
	}
	var err error
	if r.Preset, err = e.cfg.presetFigures(measured); err != nil {
		return nil, err
	}
	if r.Model, err = e.evaluate(ctx, modelFigures, e.Embeddings, e.Model.Spec.Metric, opt); err != nil {
		return nil, err
	}
	if e.Model.Spec.Flow != "" || opt.Flow != "" {
		if r.GeometryFlow, err = e.mixed(ctx, opt); err != nil {
			return nil, err
		}
	}
	if opt.ModelOnly {
		return r, nil
	}
	r.Rows = e.Set.Width() > 0
	raw, err := RawPixels(ctx, e.Set, e.Model.Spec.Input, 0, opt.Options)
	if err != nil {
		return nil, err
	}
	r.RawPixels, err = e.evaluate(ctx, r.RawName(), raw, metric.Metric{Kind: metric.Cosine}, opt)
	return r, err
}

// modelFigures is the name of the set of figures that is the model's own.
const modelFigures = "model"

func (e *Embedded) evaluate(ctx context.Context, what string, x *eval.Embeddings, metric metric.Metric, opt MeasureOptions) (*eval.Figures, error) {
	s := NewSides(e.Set.Items, x)
	o := e.evalOptions(what, e.what(opt), opt)
	o.Gallery, o.Groups = s.Gallery, s.Groups
	eng := e.Model.Params.Engine()
	f, err := eval.Evaluate(ctx, eng, s.Queries, metric, o)
	if err != nil || opt.Probe == nil {
		return f, err
	}
	rows, bank := probeSides(e.Set, x)
	f.Probe, err = opt.probe(ctx, eng, what, rows, bank, metric, e.cfg.Seed)
	return f, err
}

// probeSides are the queries and the bank of a probe: the test part and the training part
// of a set whose own split divides the images of every class, where both were embedded,
// else all rows and nil. x has one row for each item of the set.
func probeSides(set *data.Set, x *eval.Embeddings) (rows, bank *eval.Embeddings) {
	var train, test []int
	for i, it := range set.Items {
		switch it.Part {
		case data.TrainPart:
			train = append(train, i)
		case data.TestPart:
			test = append(test, i)
		}
	}
	if !set.SharedClasses || len(train) == 0 || len(test) == 0 || len(set.Items) != x.N {
		return x, nil
	}
	return x.Select(test), x.Select(train)
}

// probe measures rows as Probe asks for.
func (o MeasureOptions) probe(ctx context.Context, eng eval.Engine, what string, rows, bank *eval.Embeddings, m metric.Metric, seed uint64) (*eval.ProbeFigures, error) {
	p := *o.Probe
	p.Seed, p.Search = seed, eval.SearchOptions{Workers: o.Workers}
	p.Progress = func(done, total int) { OrSilent(o.Events).Progress(what+": linear probe", done, total, "") }
	f, err := probe.Measure(ctx, eng, rows, bank, m, p)
	if err != nil {
		return nil, err
	}
	if l := f.Linear; l != nil && !l.Converged {
		OrSilent(o.Events).Warn("%s: the linear probe had not converged after %s: its figure may be too low", what, plural.Of(l.Iterations, "iteration"))
	}
	return f, nil
}

// evaluateAs is evaluate for rows that are more than the images of a split.
func (e *Embedded) evaluateAs(ctx context.Context, what, split string, x *eval.Embeddings, metric metric.Metric, opt MeasureOptions) (*eval.Figures, error) {
	return eval.Evaluate(ctx, e.Model.Params.Engine(), x, metric, e.evalOptions(what, split, opt))
}

func (e *Embedded) evalOptions(what, split string, opt MeasureOptions) eval.Options {
	var ways []eval.Reranker
	if what == modelFigures {
		ways = opt.Rerank
	}
	return eval.Options{
		Rerank: ways, Ks: opt.Ks, Restarts: opt.Restarts, Center: opt.Center, Seed: e.cfg.Seed, Ties: opt.Ties, Split: split, Workers: opt.Workers, Comm: opt.Comm,
		PerClass: opt.PerClass && what == modelFigures, ClassName: func(label int) string { return e.Set.Classes[label] }, Super: e.Set.SuperClass(),
		Progress: func(stage string, done, total int) { OrSilent(opt.Events).Progress(what+": "+stage, done, total, "") },
	}
}
