package run

import (
	"context"
	"fmt"
	"image"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// RowSet is a set of embeddings that another program made.
type RowSet struct {
	Name string
	Sides
	Metric  metric.Metric
	Classes []string // names of the labels
	// Super, if set, names the super-class of a label.
	Super func(label int) string
	// Path names a row by its number, those of the gallery behind the queries.
	Path func(row int) string
	// Picture is what a row is of, nil where there is none; itself it may be nil.
	Picture func(ctx context.Context, row int) (image.Image, error)
}

// NewRowSet joins queries and the gallery that they are looked for in, nil for
// themselves; both have labels.
func NewRowSet(name string, m metric.Metric, classes []string, queries, gallery *eval.Embeddings, groups *eval.Groups) *RowSet {
	s := &RowSet{Name: name, Metric: m, Classes: classes, Sides: Sides{Queries: queries, Gallery: gallery, Groups: groups, QueryRows: eval.LeaveOneOut(queries.N)}}
	if s.GalleryRows = s.QueryRows; gallery != nil {
		s.GalleryRows = eval.LeaveOneOut(queries.N + gallery.N)[queries.N:]
	}
	return s
}

// RowFigures are those of sets of embeddings beside each other.
type RowFigures struct {
	Embeddings  []*Results       `json:"embeddings"`
	Differences []RowsDifference `json:"differences"`
}

// RowsDifference is what one set has more than the first, paired by query.
type RowsDifference struct {
	Embeddings string          `json:"embeddings"`
	Baseline   string          `json:"baseline"`
	RecallAt1  eval.Difference `json:"recall@1"` // in points of percent
	MAPAtR     eval.Difference `json:"map@r"`
}

// MeasureRows measures sets of embeddings of the same samples, and compares each with the
// first. Of the options count those of eval.Options; seed is that of everything drawn.
func MeasureRows(ctx context.Context, eng engine.Engine, sets []*RowSet, seed uint64, opt MeasureOptions) (*RowFigures, error) {
	f := &RowFigures{}
	var ranks []*eval.Retrieval
	for _, s := range sets {
		r := &Results{Data: s.Name, Engine: eng.Info()}
		var err error
		r.Model, err = eval.Evaluate(ctx, eng, s.Queries, s.Metric, eval.Options{
			Ks: opt.Ks, Restarts: opt.Restarts, Center: opt.Center, Ties: opt.Ties, Seed: seed, Split: "all rows", Workers: opt.Workers, Comm: opt.Comm,
			PerClass: opt.PerClass, ClassName: func(label int) string { return s.Classes[label] }, Super: s.Super,
			Gallery: s.Gallery, Groups: s.Groups, Rerank: opt.Rerank,
			Ranks: func(r *eval.Retrieval) { ranks = append(ranks, r) },
			Progress: func(stage string, done, total int) {
				OrSilent(opt.Events).Progress(s.Name+": "+stage, done, total, "")
			},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if opt.Probe != nil {
			if r.Model.Probe, err = opt.probe(ctx, eng, s.Name, s.Queries, s.Gallery, s.Metric, seed); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		f.Embeddings = append(f.Embeddings, r)
	}
	boot := eval.BootstrapOptions{Seed: seed}
	for i, s := range sets[1:] {
		d := RowsDifference{Embeddings: s.Name, Baseline: sets[0].Name}
		var err error
		if d.RecallAt1, err = eval.CompareRecall(ranks[i+1], ranks[0], 1, boot); err == nil {
			d.MAPAtR, err = eval.CompareMAPAtR(ranks[i+1], ranks[0], boot)
		}
		if err != nil {
			return nil, fmt.Errorf("%s beside %s: %w", s.Name, sets[0].Name, err)
		}
		f.Differences = append(f.Differences, d)
	}
	return f, nil
}
