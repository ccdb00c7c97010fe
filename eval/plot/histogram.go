package plot

import (
	"errors"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/vernier-ml/vernier/eval"
)

// Histogram is that of the distances inside and between classes (BRM Figs. 2 and
// 10). Each kind is a share of its own pairs, since there are far more pairs
// between classes. Title says what the embeddings are.
type Histogram struct {
	Title     string
	Histogram *eval.Histogram
	Mark      *Mark // of a threshold; nil for none
}

func (f Histogram) draw(p *chart) error {
	h := f.Histogram
	p.label(f.Title, "distance ("+eval.DistanceName(h.Metric)+")", "share of their pairs [%]")
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
			return err
		}
		area.LineStyle.Color, area.LineStyle.Width = kind.color, vg.Points(1.5)
		fill := kind.color
		fill.A = 90
		area.Color = fill
		p.Add(area)
		p.entry(fmt.Sprintf("%s (%s pairs)", kind.name, thousands(total)), area)
	}
	if top == 0 {
		return errors.New("the histogram is empty")
	}
	p.X.Min, p.X.Max = h.Edges[0], h.Edges[len(h.Edges)-1]
	p.Y.Min, p.Y.Max = 0, top*1.05
	return p.mark(f.Mark)
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

// ROC are verification curves (BRM Fig. 8), each with its area in the legend.
// Names go with curves; Metric says what is thresholded.
type ROC struct {
	Metric string
	Names  []string
	Curves []*eval.ROC
}

func (v ROC) draw(p *chart) error {
	if len(v.Names) != len(v.Curves) || len(v.Curves) == 0 {
		return fmt.Errorf("%d names for %d curves", len(v.Names), len(v.Curves))
	}
	p.label("Verification by "+v.Metric, "false acceptance rate (FAR)", "true acceptance rate (TAR)")
	chance, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return err
	}
	chance.Color, chance.Dashes = gray, []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(chance)
	for i, r := range v.Curves {
		var points plotter.XYs
		for _, at := range r.Curve(p.curvePoints) {
			points = append(points, plotter.XY{X: at.FAR, Y: at.TAR})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Names[i], err)
		}
		line.Color, line.Width = curveColor(i), vg.Points(2)
		p.Add(line)
		eer, _ := r.EER()
		p.entry(fmt.Sprintf("%s: AUC %.4f, EER %.2f%%", v.Names[i], r.AUC(), 100*eer), line)
	}
	p.entry("chance", chance)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1.001
	return nil
}

func curveColor(i int) color.Color {
	return []color.NRGBA{blue, orange, green, purple, gray}[i%5]
}
