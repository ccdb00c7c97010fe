package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are means with deviations, to be compared: by category and, beside each other
// within a category, by series.
type Bars struct {
	Title, Figure string
	Categories    []string
	Series        []string
	// Mean and Std are those of category and series. A mean that is NaN is not drawn.
	Mean, Std [][]float64
}

// draw draws a group of bars a category, a bar a series, with error bars of one
// deviation.
func (b Bars) draw(p *chart) error {
	if len(b.Categories) == 0 || len(b.Series) == 0 {
		return errNothing
	}
	p.label(b.Title, "", b.Figure)
	p.Y.Min = 0
	width := .8 / float64(len(b.Series))
	for s, name := range b.Series {
		set := barSet{width: width, color: manyColors(s)}
		for k := range b.Categories {
			if mean := b.Mean[k][s]; !math.IsNaN(mean) {
				set.at = append(set.at, plotter.XY{X: float64(k) - .4 + width*(float64(s)+.5), Y: mean})
				set.deviation = append(set.deviation, b.Std[k][s])
			}
		}
		p.Add(set)
		p.entry(name, set)
	}
	p.NominalX(p.names.all(b.Categories)...)
	p.X.Min, p.X.Max = -.55, float64(len(b.Categories))-.45
	return nil
}

// manyColors is the i-th color of Okabe and Ito's whole palette and gray; those beyond it
// are lighter.
func manyColors(i int) color.NRGBA {
	p := []color.NRGBA{
		{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
		{86, 180, 233, 255}, {213, 94, 0, 255}, {240, 228, 66, 255}, {120, 120, 120, 255},
	}
	c := p[i%len(p)]
	for range i / len(p) {
		c.R, c.G, c.B = c.R/2+127, c.G/2+127, c.B/2+127
	}
	return c
}

// barSet draws bars of a width in data units with error bars.
type barSet struct {
	at        plotter.XYs
	deviation []float64
	width     float64
	color     color.Color
}

// Plot implements plot.Plotter.
func (b barSet) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: color.Black, Width: vg.Points(.8)}
	for k, pt := range b.at {
		l, r, top := x(pt.X-b.width/2), x(pt.X+b.width/2), y(pt.Y)
		c.FillPolygon(b.color, c.ClipPolygonXY([]vg.Point{{X: l, Y: y(0)}, {X: r, Y: y(0)}, {X: r, Y: top}, {X: l, Y: top}}))
		mid := x(pt.X)
		c.StrokeLine2(line, mid, y(max(0, pt.Y-b.deviation[k])), mid, y(pt.Y+b.deviation[k]))
	}
}

// DataRange implements plot.DataRanger.
func (b barSet) DataRange() (xmin, xmax, ymin, ymax float64) {
	for k, pt := range b.at {
		ymax = max(ymax, pt.Y+b.deviation[k])
		xmax = max(xmax, pt.X)
	}
	return 0, xmax, 0, ymax
}

// Thumbnail implements plot.Thumbnailer.
func (b barSet) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}})
}
