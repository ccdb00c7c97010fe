package plot

import (
	"image/color"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Groups are repeated measurements of a figure, to be compared: by category (a
// loss, say) and, beside each other within a category, by series (a metric).
type Groups struct {
	Title, Figure string
	Categories    []string
	Series        []string
	// Values of category and series, one a repetition; empty for none.
	Values [][][]float64
}

// seriesColors tell series apart; further ones begin again with other marks.
func seriesColors() []color.Color { return []color.Color{blue, orange, green, purple, gray} }

// draw draws every measurement as a small mark, and mean and deviation of each
// group beside it.
func (g Groups) draw(p *chart) error {
	p.label(g.Title, "", g.Figure)
	var all []Point
	width := .8 / float64(max(len(g.Series), 1))
	for s, name := range g.Series {
		c := seriesColors()[s%len(seriesColors())]
		var shape draw.GlyphDrawer = draw.CircleGlyph{}
		if s >= len(seriesColors()) {
			shape = diamond{}
		}
		var single, means plotter.XYs
		var spread plotter.YErrors
		for k := range g.Categories {
			values := g.Values[k][s]
			if len(values) == 0 {
				continue
			}
			x := float64(k) - .4 + width*(float64(s)+.5)
			for _, v := range values {
				single = append(single, plotter.XY{X: x - width/5, Y: v})
				all = append(all, Point{x, v})
			}
			mean, std := values[0], 0.
			if len(values) > 1 {
				mean, std = stat.MeanStdDev(values, nil)
			}
			means = append(means, plotter.XY{X: x + width/5, Y: mean})
			spread = append(spread, struct{ Low, High float64 }{std, std})
			all = append(all, Point{x, mean - std}, Point{x, mean + std})
		}
		if len(single) == 0 {
			continue
		}
		if err := p.addGroup(name, single, means, spread, c, shape); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errNothing
	}
	fit(p, all)
	p.NominalX(p.names.all(g.Categories)...)
	p.X.Min, p.X.Max = -.55, float64(len(g.Categories))-.45
	if len(g.Categories) > 4 { // names would meet
		p.X.Tick.Label.Rotation = .35
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	}
	return nil
}

// addGroup draws a series.
func (c *chart) addGroup(name string, single, means plotter.XYs, spread plotter.YErrors, col color.Color, shape draw.GlyphDrawer) error {
	dots, err := plotter.NewScatter(single)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: col, Radius: vg.Points(1.8), Shape: draw.RingGlyph{}}
	middle, err := plotter.NewScatter(means)
	if err != nil {
		return err
	}
	middle.GlyphStyle = draw.GlyphStyle{Color: col, Radius: vg.Points(4), Shape: shape}
	bars, err := plotter.NewYErrorBars(struct {
		plotter.XYer
		plotter.YErrorer
	}{means, spread})
	if err != nil {
		return err
	}
	bars.LineStyle = draw.LineStyle{Color: col, Width: vg.Points(1.5)}
	c.Add(dots, bars, middle)
	c.entry(name, plot.Thumbnailer(middle))
	return nil
}
