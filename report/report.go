package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/probe"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// Options say what the page shows. The zero value is usual.
type Options struct {
	run.Selection
	Hardest   int // queries with the worst first right answer; 0 means 12
	Drawn     int // queries drawn at random; 0 means 8
	Neighbors int // of every query; 0 means 8
	Points    int // of the map at most; 0 means 1500
	Pairs     int // of each kind at most; see eval.PairOptions
	// Rerank are ways of re-ranking whose figures the page has too. For them a run's
	// figures are measured anew.
	Rerank []eval.Reranker
	// Probe, if not nil, adds a table of probes of the embeddings (package eval/probe), for
	// which a run's figures are measured anew as well.
	Probe *probe.Options
}

func (o Options) complete() (Options, error) {
	for _, f := range []struct {
		value    *int
		fallback int
		name     string
	}{{&o.Hardest, 12, "hardest queries"}, {&o.Drawn, 8, "drawn queries"}, {&o.Neighbors, 8, "neighbors"}, {&o.Points, 1500, "points of the map"}} {
		if *f.value == 0 {
			*f.value = f.fallback
		}
		if *f.value < 1 {
			return o, fmt.Errorf("report: %d %s, want at least 1", *f.value, f.name)
		}
	}
	return o, nil
}

// Report is what the page shows.
type Report struct {
	Title    string       `json:"title"`
	Data     string       `json:"data"`
	Split    string       `json:"split"`
	Epoch    int          `json:"epoch"` // of the model; 0 of embeddings by another program
	Distance string       `json:"distance"`
	Images   int          `json:"images"`
	Classes  int          `json:"classes"`
	Settings []Setting    `json:"-"` // config.json has them
	Results  *run.Results `json:"results"`
	// Compared are the figures of several files of embeddings beside each other; nil of one.
	Compared  *run.RowFigures  `json:"compared,omitempty"`
	Unit      string           `json:"-"` // what is shown: an image, or a row of embeddings
	Threshold *model.Threshold `json:"threshold,omitempty"`
	Hardest   []Query          `json:"hardest"`
	Drawn     []Query          `json:"drawn"`
	Confusion *Confusion       `json:"confusion"`
	Worst     []ClassFigures   `json:"worst_classes"`
	MapPoints int              `json:"map_points"`
	MapShare  []float64        `json:"map_variance"` // along the two principal components

	names  []string // of files of embeddings
	charts []section
}

// Make embeds the images of a selection and measures what a page shows of them.
func Make(ctx context.Context, folder run.Folder, eng engine.Engine, opt Options) (*Report, error) {
	opt, err := opt.complete()
	if err != nil {
		return nil, err
	}
	results, err := storedResults(folder, opt.Selection)
	if err != nil {
		return nil, err
	}
	var e *run.Embedded
	if results != nil && len(opt.Rerank) == 0 && opt.Probe == nil {
		e, err = run.Embed(ctx, folder, eng, opt.Selection)
	} else {
		e, results, err = run.Measure(ctx, folder, eng, run.MeasureOptions{Selection: opt.Selection, Rerank: opt.Rerank, Probe: opt.Probe})
	}
	if err != nil {
		return nil, err
	}
	defer e.Close()
	cfg, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	r := &Report{
		Title: folder.Name(), Data: nametext.WithoutFolders(e.Set.Name), Split: results.Model.Split, Epoch: e.Epoch, Distance: eval.DistanceName(e.Model.Spec.Metric),
		Images: len(e.Set.Items), Classes: len(e.Set.Classes), Results: results, Threshold: e.Model.Threshold,
	}
	if r.Threshold != nil {
		r.Threshold = r.Threshold.Brief()
	}
	if r.Settings, err = settings(cfg); err != nil {
		return nil, err
	}
	r.Unit = "image"
	m := &maker{Report: r, ctx: ctx, eng: eng, s: subjectOf(e), seed: cfg.Seed, loss: cfg.Loss.Name, opt: opt, name: r.Split}
	return r, m.make(folder)
}

// storedResults are those of results.json, if they are of the same images by
// the same model.
func storedResults(folder run.Folder, sel run.Selection) (*run.Results, error) {
	if sel.Data != "" || !sel.Choice.IsBest() || sel.SuperClasses != nil || sel.Split != "" && sel.Split != "test" {
		return nil, nil
	}
	text, err := wholefile.Read(folder.Path(run.ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &run.Results{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(run.ResultsFile), err)
	}
	if r.Model == nil {
		return nil, fmt.Errorf("%s: it has no figures of the model", folder.Path(run.ResultsFile))
	}
	return r, nil
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	t, err := pageTemplate()
	if err != nil {
		return err
	}
	return t.Execute(w, r.page())
}
