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

// maps draws the embedding in the plane.
func (m *maker) maps() error {
	rows := m.mapRows()
	m.MapPoints = len(rows)
	x := m.e.Embeddings.Select(rows)
	if x.N < 4 || x.H < 2 {
		return nil
	}
	pca, err := eval.PCA(x, 2)
	if err != nil {
		return err
	}
	m.MapShare = pca.Explained
	near, err := tsne.Map(m.ctx, m.eng, x, m.e.Model.Spec.Metric, tsne.Options{
		Workers: m.opt.Workers, Progress: func(done, total int) { run.OrSilent(m.opt.Events).Progress("map", done, total, "") },
	})
	if err != nil {
		return err
	}
	classes := map[int]bool{}
	for _, l := range x.Labels {
		classes[l] = true
	}
	s := section{ID: "map", Title: "Map", Note: fmt.Sprintf("%s of %s%s, one color a class; hold the pointer on a point to see its class and path. "+
		"Colors of different classes may look alike. Distances in a map are not those of the embedding: t-SNE keeps neighborhoods only.",
		plural.Of(len(rows), "image"), plural.Of(len(classes), "class"), map[bool]string{true: " (drawn: whole classes)", false: ""}[len(rows) < m.e.Embeddings.N])}
	titles := make([]string, len(rows))
	for i, row := range rows {
		titles[i] = m.e.Set.Classes[m.label(row)] + ": " + m.e.Set.Items[row].Path
	}
	for _, f := range []struct {
		name, caption string
		p             *eval.Projection
	}{
		{"t-SNE map", "t-SNE by " + m.Distance, near},
		{"PCA map", fmt.Sprintf("PCA: two directions with %.0f%% of the variance", 100*(pca.Explained[0]+pca.Explained[1])), pca},
	} {
		title := fmt.Sprintf("%s of %s, colored by class", f.name, plural.Of(len(rows), "image"))
		if err := s.add(plot.Map{Title: title, XY: f.p.X, Labels: x.Labels, Titles: titles}, f.caption); err != nil {
			return err
		}
	}
	m.charts = append(m.charts, s)
	return nil
}

// mapRows draws whole classes until there are enough rows.
func (m *maker) mapRows() []int {
	classes := m.e.Set.ByClass()
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
