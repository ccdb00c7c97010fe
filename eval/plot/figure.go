package plot

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Figure is what PNG and SVG draw: Bars, Covariance, DET, Groups, Histogram, Lines,
// Loss, Map, Parallel, Recall, ROC or Scatter.
type Figure interface {
	draw(c *chart) error
}

var errNothing = errors.New("there is nothing to draw")

// PNG draws a figure of 1200 x 750 pixels into the file at path, as a whole or not at
// all. Names that its font cannot draw are numbered; they stand in a text file beside it.
func PNG(path string, f Figure) error {
	c := newChart(newFigureNames(font.DefaultCache.Lookup(sans(labelSize), labelSize).Face), 8*vg.Inch, 5*vg.Inch)
	if err := f.draw(c); err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	if note := c.names.note(path); note != "" {
		c.entry(note)
	}
	if err := c.names.write(path); err != nil {
		return err
	}
	return wholefile.Write(path, func(w io.Writer) error {
		img := vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(150))
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

// SVG draws a figure as an svg element of the class chart for a page of HTML, which
// scales it. Its aria-label says what the figure is and what its legend says; the title
// is not drawn, since a page has captions. Text is text, in Liberation Sans or a font like it, and
// marks of a curve or map have titles, which browsers show under the pointer.
//
// Colors are the variables --plot-ink, -gray, -faint, -blue, -orange, -green and -purple,
// which a page may set for a dark background; without them they are those of PNG.
func SVG(f Figure) (string, error) {
	c := newChart(newFigureNames(nil), 5*vg.Inch, 3.5*vg.Inch)
	c.curvePoints, c.room = 300, 1.2
	if err := f.draw(c); err != nil {
		return "", fmt.Errorf("plot: %w", err)
	}
	c.X.Tick.Marker = apart{c.X.Tick.Marker, c.X.Tick.Label, c.width - vg.Points(60)}
	canvas := newSVGCanvas(c.width, c.height)
	area := draw.Crop(draw.New(canvas), vg.Points(1), -vg.Points(8), vg.Points(1), -vg.Points(1))
	area.Max.Y = c.drawLegend(area, area.Min.X+vg.Points(4))
	c.Draw(area)
	return canvas.element(c.describe()), nil
}
