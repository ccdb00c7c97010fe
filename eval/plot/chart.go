package plot

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of text.
const (
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
	title         string
	entries       []string      // of the legend
	legend        []plot.Legend // one entry each
	names         *figureNames
	width, height vg.Length
	curvePoints   int       // of a ROC curve at most
	room          vg.Length // of a legend entry, by which fonts may be wider; 1 for none
}

func newChart(names *figureNames, width, height vg.Length) *chart {
	c := &chart{Plot: plot.New(), names: names, width: width, height: height, curvePoints: math.MaxInt, room: 1}
	c.BackgroundColor = nil // that of the canvas
	for _, a := range []*plot.Axis{&c.X, &c.Y} {
		a.Label.TextStyle.Font = sans(labelSize)
		a.Label.Padding = vg.Points(5)
		a.Label.TextStyle.Handler = aligned{a.Label.TextStyle.Handler}
		a.Tick.Label.Handler = aligned{a.Tick.Label.Handler}
		a.Tick.Label.Font = sans(tickSize)
		a.Tick.Marker = niceTicks{}
	}
	grid := plotter.NewGrid()
	for _, lines := range []*draw.LineStyle{&grid.Horizontal, &grid.Vertical} {
		lines.Color, lines.Width = faint, vg.Points(.5)
	}
	c.Add(grid)
	return c
}

// label names the figure and its axes.
func (c *chart) label(title, x, y string) {
	c.title, c.X.Label.Text, c.Y.Label.Text = c.names.of(title), c.names.of(x), c.names.of(y)
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: size}
}

// entry adds to the legend.
func (c *chart) entry(name string, thumbnails ...plot.Thumbnailer) {
	l := plot.NewLegend()
	l.TextStyle.Font = sans(tickSize)
	l.TextStyle.Handler = aligned{l.TextStyle.Handler}
	l.ThumbnailWidth = vg.Points(24)
	l.Left, l.Top = true, true
	name = c.names.of(name)
	l.Add(name, thumbnails...)
	c.legend, c.entries = append(c.legend, l), append(c.entries, name)
}

// describe says what the figure is and what its legend says, to who does not see it.
func (c *chart) describe() string {
	s := c.title
	if c.X.Label.Text != "" {
		s += ": " + c.Y.Label.Text + " over " + c.X.Label.Text
	}
	return strings.Join(append([]string{s}, c.entries...), "; ")
}

// drawLegend draws the entries in rows from the top of area and returns where
// the room below them begins.
func (c *chart) drawLegend(area draw.Canvas, left vg.Length) (top vg.Length) {
	const height = tickSize + 6
	row := area
	row.Min.X = left
	for i := range c.legend {
		width := c.room * c.legend[i].Rectangle(row).Size().X
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

// apart leaves out labels that would run into the one before on an axis of a length.
type apart struct {
	plot.Ticker
	style  draw.TextStyle
	length vg.Length
}

// Ticks implements plot.Ticker.
func (t apart) Ticks(low, high float64) []plot.Tick {
	ticks := t.Ticker.Ticks(low, high)
	free := math.Inf(-1) // where a label may begin
	for i := range ticks {
		at := (ticks[i].Value - low) / (high - low) * t.length.Points()
		half := t.style.Width(ticks[i].Label).Points() / 2
		if at-half < free {
			ticks[i].Label = ""
			continue
		}
		free = at + half + 5
	}
	return ticks
}
