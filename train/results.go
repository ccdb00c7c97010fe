package train

import (
	"context"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/layers"
)

// Results are the figures of a run, each set of embeddings compared by its own
// metric, all on the same images.
type Results struct {
	// Epoch of the model, from 1; 0 is the untrained network.
	Epoch int    `json:"epoch"`
	Data  string `json:"data"`

	Model     *eval.Figures `json:"model"`
	RawPixels *eval.Figures `json:"raw_pixels"` // pixels of the prepared picture, at most 32 x 32, by cosine
	// Untrained is the network before its first step; nil if the weights that it
	// started from are gone.
	Untrained *eval.Figures `json:"untrained"`
}

// MeasureOptions say what Measure measures beside a Selection.
type MeasureOptions struct {
	Selection
	Ks       []int // of Recall@K, nil for 1, 2, 4, 8
	Restarts int   // of k-means, 0 for 20
	Ties     eval.TieRule
}

// Measure evaluates a run's model beside the baselines.
func Measure(ctx context.Context, folder Folder, eng layers.Engine, opt MeasureOptions) (_ *Embedded, _ *Results, err error) {
	emb, err := Embed(ctx, folder, eng, opt.Selection)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			emb.Close()
		}
	}()
	figures := func(what string, e *eval.Embeddings, metric layers.Metric) (*eval.Figures, error) {
		return eval.Evaluate(ctx, eng, e, metric, eval.Options{
			Ks: opt.Ks, Restarts: opt.Restarts, Seed: emb.cfg.Seed, Ties: opt.Ties, Split: opt.describe(), Workers: opt.Workers,
			Progress: func(stage string, done, total int) { opt.Events.Progress(what+": "+stage, done, total, "") },
		})
	}
	r := &Results{Epoch: emb.Epoch, Data: emb.Set.Name}
	if r.Model, err = figures("model", emb.Embeddings, emb.Model.Spec.Metric); err != nil {
		return nil, nil, err
	}
	if untrained, _, err := emb.cfg.start(eng); err == nil {
		e, err := EmbedSet(ctx, untrained, emb.loader, len(emb.Set.Items), "untrained network", opt.Events)
		if err != nil {
			return nil, nil, err
		}
		if r.Untrained, err = figures("untrained network", e.Embeddings, emb.cfg.Model.Metric); err != nil {
			return nil, nil, err
		}
	} else if emb.cfg.Weights.Path == "" {
		return nil, nil, err
	} else {
		opt.Events.Warn("the network before training is not measured: %v", err)
	}
	raw, err := rawPixels(ctx, emb.Set, emb.Model.Spec.Input, data.LoaderOptions{Workers: opt.Workers})
	if err != nil {
		return nil, nil, err
	}
	if r.RawPixels, err = figures("raw pixels", raw, layers.Metric{Kind: layers.Cosine}); err != nil {
		return nil, nil, err
	}
	return emb, r, nil
}

// Finish measures the best epoch on the test classes, and writes results and
// pictures.
func (s *Session) Finish(ctx context.Context) (*Results, error) {
	emb, r, err := Measure(ctx, s.folder, s.net.g.Engine(), MeasureOptions{Selection: Selection{Options: s.opt}})
	if err != nil {
		return nil, err
	}
	defer emb.Close()
	if err := s.folder.SaveJSON(ResultsFile, r); err != nil {
		return nil, err
	}
	if err := s.folder.draw(ctx, s.net.g.Engine(), emb, s.state.History); err != nil {
		return nil, err
	}
	return r, nil
}
