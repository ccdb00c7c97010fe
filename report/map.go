package report

import (
	"fmt"
	"html"
	"html/template"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/eval"
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
	s.Figures = []captioned{
		{m.scatter("t-SNE map", rows, near), "t-SNE by " + m.Distance},
		{m.scatter("PCA map", rows, pca), fmt.Sprintf("PCA: two directions with %.0f%% of the variance", 100*(pca.Explained[0]+pca.Explained[1]))},
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

// scatter draws points in colors of their classes.
func (m *maker) scatter(name string, rows []int, p *eval.Projection) figure {
	const side, room = 600, 10
	lowX, highX := bounds(every(p.X, 0))
	lowY, highY := bounds(every(p.X, 1))
	wide := max(highX-lowX, highY-lowY)
	if wide == 0 {
		wide = 1
	}
	scale := (side - 2*room) / wide
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="map" viewBox="0 0 %d %d" role="img" aria-label="%s of %d images, colored by class">`, side, side, html.EscapeString(name), len(rows))
	for i, row := range rows {
		x := side/2 + (p.X[2*i]-(lowX+highX)/2)*scale
		y := side/2 - (p.X[2*i+1]-(lowY+highY)/2)*scale
		class := m.label(row)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.2" style="--h:%d;--l:%d%%"><title>%s: %s</title></circle>`, x, y,
			int(float64(class)*137.508)%360, 45+10*(class%3), html.EscapeString(m.e.Set.Classes[class]), html.EscapeString(m.e.Set.Items[row].Path))
	}
	b.WriteString(`</svg>`)
	return figure{SVG: template.HTML(b.String())}
}

func every(xy []float64, from int) []float64 {
	var v []float64
	for i := from; i < len(xy); i += 2 {
		v = append(v, xy[i])
	}
	return v
}
