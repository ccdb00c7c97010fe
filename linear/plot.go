package linear

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// palette is Okabe and Ito's, which colour-blind readers can tell apart.
func palette() []color.Color {
	return []color.Color{
		color.NRGBA{0, 114, 178, 255}, color.NRGBA{230, 159, 0, 255}, color.NRGBA{0, 158, 115, 255}, color.NRGBA{204, 121, 167, 255},
		color.NRGBA{86, 180, 233, 255}, color.NRGBA{213, 94, 0, 255}, color.NRGBA{240, 228, 66, 255}, color.NRGBA{120, 120, 120, 255},
	}
}

// colourOf is the i-th of the palette; those beyond it are lighter.
func colourOf(i int) color.Color {
	p := palette()
	c := p[i%len(p)].(color.NRGBA)
	for range i / len(p) {
		c.R, c.G, c.B = c.R/2+127, c.G/2+127, c.B/2+127
	}
	return c
}

// PlotErrors draws the errors of comparisons as a PNG file: a group of bars a
// table, a bar a learner, with error bars of one deviation (BRM Fig. 11).
func PlotErrors(path, title string, comparisons []*Comparison) error {
	if len(comparisons) == 0 {
		return fmt.Errorf("figure %s: nothing to draw", path)
	}
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, "k-NN error [%], ± one deviation"
	p.Y.Min = 0
	count := len(comparisons[0].Results)
	width := .8 / float64(count)
	var names []string
	for _, c := range comparisons {
		names = append(names, c.Table)
	}
	for i, r := range comparisons[0].Results {
		bars := plotter.XYs{}
		var deviation []float64
		for k, c := range comparisons {
			if got := c.Result(r.Learner); got != nil && got.Failed == "" {
				bars = append(bars, plotter.XY{X: float64(k) - .4 + width*(float64(i)+.5), Y: got.Mean})
				deviation = append(deviation, got.Std)
			}
		}
		fill := barSet{bars, deviation, width, colourOf(i)}
		p.Add(fill)
		p.Legend.Add(r.Learner, fill)
	}
	p.Legend.Top = true
	p.Legend.ThumbnailWidth = vg.Points(10)
	p.NominalX(names...)
	p.X.Min, p.X.Max = -.6, 1.15*float64(len(comparisons))-.1 // room for the legend
	size := vg.Length(max(6, 1.6*float64(len(comparisons))+2)) * vg.Inch
	return savePlot(p, size, 4.5*vg.Inch, path)
}

// savePlot writes a PNG file whole or not at all.
func savePlot(p *plot.Plot, width, height vg.Length, path string) error {
	return wholefile.Write(path, func(w io.Writer) error {
		picture, err := p.WriterTo(width, height, "png")
		if err == nil {
			_, err = picture.WriteTo(w)
		}
		return err
	})
}

// barSet draws bars of a width in data units with error bars.
type barSet struct {
	at        plotter.XYs
	deviation []float64
	width     float64
	colour    color.Color
}

// Plot implements plot.Plotter.
func (b barSet) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: color.Black, Width: vg.Points(.8)}
	for k, pt := range b.at {
		l, r, top := x(pt.X-b.width/2), x(pt.X+b.width/2), y(pt.Y)
		c.FillPolygon(b.colour, c.ClipPolygonXY([]vg.Point{{X: l, Y: y(0)}, {X: r, Y: y(0)}, {X: r, Y: top}, {X: l, Y: top}}))
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
	c.FillPolygon(b.colour, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}})
}

// PlotPoints draws rows of two columns as a PNG file, coloured by class (BRM
// Fig. 6 a and b).
func PlotPoints(path, title, xName, yName string, x, y []float64, labels []int, classes []string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, xName, yName
	for k, name := range classes {
		var pts plotter.XYs
		for i, c := range labels {
			if c == k {
				pts = append(pts, plotter.XY{X: x[i], Y: y[i]})
			}
		}
		if len(pts) == 0 {
			continue
		}
		s, err := plotter.NewScatter(pts)
		if err != nil {
			return fmt.Errorf("figure %s: %w", path, err)
		}
		s.GlyphStyle = draw.GlyphStyle{Color: colourOf(k), Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
		p.Add(s)
		p.Legend.Add(name, s)
	}
	p.Legend.Top = true
	p.Y.Max += .25 * (p.Y.Max - p.Y.Min) // room for the legend
	return savePlot(p, 5*vg.Inch, 4.5*vg.Inch, path)
}
