package plot

import (
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Figures are 1200 x 750 pixels; the text is set for that size.
const (
	plotWidth  = 8 * vg.Inch
	plotHeight = 5 * vg.Inch
	plotDPI    = 150

	titleSize = vg.Length(14)
	labelSize = vg.Length(12)
	tickSize  = vg.Length(11)
)

// Colors that color-blind readers can tell apart (Okabe and Ito 2008).
var (
	blue   = color.NRGBA{0, 114, 178, 255}
	orange = color.NRGBA{213, 94, 0, 255}
	green  = color.NRGBA{0, 145, 90, 255}
	purple = color.NRGBA{170, 70, 140, 255}
	gray   = color.NRGBA{120, 120, 120, 255}
	faint  = color.NRGBA{225, 225, 225, 255}
)

// chart is a figure in the common style: the title and, in a row below it, the
// legend stand above the data, where they cover nothing.
type chart struct {
	*plot.Plot
	title  string
	legend []plot.Legend // one entry each
	names  *figureNames
}

func newChart(title, x, y string) *chart {
	c := &chart{Plot: plot.New(), names: newFigureNames(font.DefaultCache.Lookup(sans(labelSize), labelSize).Face)}
	c.title, c.X.Label.Text, c.Y.Label.Text = c.names.of(title), c.names.of(x), c.names.of(y)
	for _, a := range []*plot.Axis{&c.X, &c.Y} {
		a.Label.TextStyle.Font = sans(labelSize)
		a.Label.Padding = vg.Points(5)
		a.Tick.Label.Font = sans(tickSize)
		a.Tick.Marker = niceTicks{}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	c.Add(grid)
	return c
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: size}
}

// entry adds to the legend.
func (c *chart) entry(name string, thumbnails ...plot.Thumbnailer) {
	l := plot.NewLegend()
	l.TextStyle.Font = sans(tickSize)
	l.ThumbnailWidth = vg.Points(24)
	l.Left, l.Top = true, true
	l.Add(c.names.of(name), thumbnails...)
	c.legend = append(c.legend, l)
}

// save draws the figure with a margin around it.
func (c *chart) save(path string) error {
	if note := c.names.note(path); note != "" {
		c.entry(note)
	}
	if err := c.names.write(path); err != nil {
		return err
	}
	return wholefile.Write(path, func(w io.Writer) error {
		img := vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(plotDPI))
		area := draw.Crop(draw.New(img), vg.Points(12), -vg.Points(18), vg.Points(8), -vg.Points(12))
		style := c.Title.TextStyle
		style.Font, style.XAlign, style.YAlign = sans(titleSize), text.XLeft, text.YTop
		left := area.Min.X + vg.Points(6)
		area.FillText(style, vg.Point{X: left, Y: area.Max.Y}, c.title)
		area.Max.Y -= titleSize + vg.Points(8)
		area.Max.Y = c.drawLegend(area, left)
		c.Draw(area)
		_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
		return err
	})
}

// drawLegend draws the entries in rows from the top of area and returns where
// the room below them begins.
func (c *chart) drawLegend(area draw.Canvas, left vg.Length) (top vg.Length) {
	const height = tickSize + 6
	row := area
	row.Min.X = left
	for i := range c.legend {
		width := c.legend[i].Rectangle(row).Size().X
		if row.Min.X > left && row.Min.X+width > area.Max.X {
			row.Min.X = left
			row.Max.Y -= height
		}
		c.legend[i].Draw(row)
		row.Min.X += width + vg.Points(16)
	}
	if len(c.legend) > 0 {
		row.Max.Y -= height + vg.Points(4)
	}
	return row.Max.Y
}

// niceTicks puts labels at four to nine multiples of 1, 2 or 5 times a power of
// ten.
type niceTicks struct {
	whole bool // no fractions
}

// Ticks implements plot.Ticker.
func (t niceTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	if t.whole {
		step = max(step, 1)
	}
	for _, by := range []float64{2, 2.5, 2} { // 2, 5, 10 times
		if (high-low)/step > 9 {
			step *= by
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, 'f', digits, 64)})
	}
	return ticks
}
