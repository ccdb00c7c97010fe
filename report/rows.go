package report

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/run"
)

// MakeRows is Make for embeddings that another program made, with their figures, which
// run.MeasureRows gives. Of several sets the page compares figures, distances and maps;
// queries and confusions are those of the first. Of the options' Selection count Workers
// and Events; seed is that of everything drawn.
func MakeRows(ctx context.Context, eng engine.Engine, sets []*run.RowSet, figures *run.RowFigures, seed uint64, opt Options) (*Report, error) {
	opt, err := opt.complete()
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 || len(figures.Embeddings) != len(sets) {
		return nil, fmt.Errorf("report: figures of %d sets of embeddings, there are %d", len(figures.Embeddings), len(sets))
	}
	names := make([]string, len(sets))
	shown := make(map[string]int)
	for i, s := range sets {
		names[i] = filepath.Base(nametext.WithoutFolders(s.Name))
		shown[names[i]]++
	}
	for i, s := range sets {
		if shown[names[i]] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", filepath.Base(s.Name), i+1)
		}
	}
	first := figures.Embeddings[0]
	r := &Report{
		Title: names[0], Data: names[0], Split: first.Model.Split, Distance: eval.DistanceName(sets[0].Metric),
		Classes: first.Model.Classes, Results: first, names: names,
	}
	for _, n := range names[1:] {
		r.Title += ", " + n
	}
	if len(sets) > 1 {
		r.Compared = figures
	}
	var makers []*maker
	for i, s := range sets {
		m := &maker{Report: r, ctx: ctx, eng: eng, s: subjectOfRows(s, opt.Events), seed: seed, opt: opt, name: names[i]}
		makers = append(makers, m)
	}
	r.Images = makers[0].s.rows.N
	r.Unit = "row"
	steps := []func() error{
		makers[0].search,
		func() error { return distances(makers) },
		makers[0].queries,
		makers[0].confusions,
		func() error { return maps(makers) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}
