package plot

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/vernier-ml/vernier/eval"
)

// Histogram draws the distances inside and between classes as a PNG file
// (BRM Figs. 2 and 10). Each kind is a share of its own pairs, since there are
// far more pairs between classes. title says what the embeddings are.
func Histogram(path, title string, h *eval.Histogram) error {
	p := newChart(title, "distance ("+eval.DistanceName(h.Metric)+")", "share of the pairs of a kind [%]")
	top := 0.0
	for _, kind := range []struct {
		name   string
		counts []int
		color  color.NRGBA
	}{{"inside a class", h.Intra, blue}, {"between classes", h.Inter, orange}} {
		total := 0
		for _, n := range kind.counts {
			total += n
		}
		if total == 0 {
			continue
		}
		outline := silhouette(h.Edges, kind.counts, total)
		for _, at := range outline {
			top = max(top, at.Y)
		}
		area, err := plotter.NewPolygon(outline)
		if err != nil {
			return fmt.Errorf("plot: figure %s: %w", path, err)
		}
		area.LineStyle.Color, area.LineStyle.Width = kind.color, vg.Points(1.5)
		fill := kind.color
		fill.A = 90
		area.Color = fill
		p.Add(area)
		p.entry(fmt.Sprintf("%s (%s pairs)", kind.name, thousands(total)), area)
	}
	if top == 0 {
		return fmt.Errorf("plot: figure %s: the histogram is empty", path)
	}
	p.X.Min, p.X.Max = h.Edges[0], h.Edges[len(h.Edges)-1]
	p.Y.Min, p.Y.Max = 0, top*1.05
	return p.save(path)
}

// silhouette is the outline of the bins from the first to the last that holds
// anything, in percent of total.
func silhouette(edges []float64, counts []int, total int) (outline plotter.XYs) {
	first, last := 0, len(counts)-1
	for counts[first] == 0 {
		first++
	}
	for counts[last] == 0 {
		last--
	}
	outline = append(outline, plotter.XY{X: edges[first]})
	for i := first; i <= last; i++ {
		share := 100 * float64(counts[i]) / float64(total)
		outline = append(outline, plotter.XY{X: edges[i], Y: share}, plotter.XY{X: edges[i+1], Y: share})
	}
	return append(outline, plotter.XY{X: edges[last+1]})
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ROC draws verification curves as a PNG file (BRM Fig. 8), each with its
// area in the legend. names go with curves; metric says what is thresholded.
func ROC(path, metric string, names []string, curves []*eval.ROC) error {
	if len(names) != len(curves) || len(curves) == 0 {
		return fmt.Errorf("plot: figure %s: %d names for %d curves", path, len(names), len(curves))
	}
	p := newChart("Verification by "+metric, "false acceptance rate (FAR)", "true acceptance rate (TAR)")
	chance, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	chance.Color, chance.Dashes = gray, []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(chance)
	for i, r := range curves {
		points := make(plotter.XYs, len(r.FAR))
		for j := range points {
			points[j] = plotter.XY{X: r.FAR[j], Y: r.TAR[j]}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("plot: figure %s: %s: %w", path, names[i], err)
		}
		line.Color, line.Width = curveColor(i), vg.Points(2)
		p.Add(line)
		eer, _ := r.EER()
		p.entry(fmt.Sprintf("%s: AUC %.4f, EER %.2f%%", names[i], r.AUC(), 100*eer), line)
	}
	p.entry("chance", chance)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1.001
	return p.save(path)
}

func curveColor(i int) color.Color {
	return []color.NRGBA{blue, orange, green, purple, gray}[i%5]
}
