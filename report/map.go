package report

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/eval/tsne"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

// maps draws each set in the plane, the same rows of all.
func maps(makers []*maker) error {
	first := makers[0]
	rows := first.mapRows()
	first.MapPoints = len(rows)
	classes := map[int]bool{}
	for _, row := range rows {
		classes[first.s.rows.Labels[row]] = true
	}
	s := section{ID: "map", Title: "Map", Note: fmt.Sprintf("%s of %s%s, one color a class; hold the pointer on a point to see its class and path. "+
		"Colors of different classes may look alike. Distances in a map are not those of the embedding: t-SNE keeps neighborhoods only.",
		plural.Of(len(rows), first.Unit), plural.Of(len(classes), "class"), map[bool]string{true: " (drawn: whole classes)", false: ""}[len(rows) < first.s.rows.N])}
	for i, m := range makers {
		if err := m.addMaps(&s, rows, i == 0, len(makers) > 1); err != nil {
			return err
		}
	}
	if len(s.Figures) > 0 {
		first.charts = append(first.charts, s)
	}
	return nil
}

// addMaps draws a set by t-SNE and PCA; named says that its captions name it.
func (m *maker) addMaps(s *section, rows []int, first, named bool) error {
	x := m.s.rows.Select(rows)
	if x.N < 4 || x.H < 2 {
		return nil
	}
	pca, err := eval.PCA(x, 2)
	if err != nil {
		return err
	}
	if first {
		m.MapShare = pca.Explained
	}
	near, err := tsne.Map(m.ctx, m.eng, x, m.s.metric, tsne.Options{
		Workers: m.opt.Workers, Progress: func(done, total int) { run.OrSilent(m.opt.Events).Progress("map", done, total, "") },
	})
	if err != nil {
		return err
	}
	titles := make([]string, len(rows))
	for i, row := range rows {
		titles[i] = m.s.class(row) + ": " + m.s.path(row)
	}
	of := ""
	if named {
		of = " (" + m.name + ")"
	}
	for _, f := range []struct {
		name, caption string
		p             *eval.Projection
	}{
		{"t-SNE map", "t-SNE by " + eval.DistanceName(m.s.metric) + of, near},
		{"PCA map", fmt.Sprintf("PCA: two directions with %.0f%% of the variance%s", 100*(pca.Explained[0]+pca.Explained[1]), of), pca},
	} {
		title := fmt.Sprintf("%s of %s, colored by class%s", f.name, plural.Of(len(rows), m.Unit), of)
		if err := s.add(plot.Map{Title: title, XY: f.p.X, Labels: x.Labels, Titles: titles}, f.caption); err != nil {
			return err
		}
	}
	return nil
}

// mapRows draws whole classes until there are enough rows.
func (m *maker) mapRows() []int {
	classes := m.s.byClass()
	var rows []int
	for _, c := range rand.New(rand.NewPCG(m.seed, 0x6d6170)).Perm(len(classes)) {
		if len(rows) > 0 && len(rows)+len(classes[c]) > m.opt.Points {
			continue
		}
		rows = append(rows, classes[c]...)
	}
	rows = rows[:min(len(rows), m.opt.Points)]
	slices.Sort(rows)
	return rows
}
