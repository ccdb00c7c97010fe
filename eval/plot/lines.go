package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a named curve of a figure.
type Line struct {
	Name   string
	Points []Point
	// Deviation, if not nil, is drawn as an error bar at each point.
	Deviation []float64
	Band      bool // draw the deviations as a band around the curve instead
	Dashed    bool
}

// Lines is a figure of several curves.
type Lines struct {
	Title, X, Y string
	// Names, if not nil, stand at 0, 1, 2, ... of the X axis in place of numbers.
	Names   []string
	Whole   bool // X counts whole things, such as epochs: no ticks between them
	Percent bool // the Y axis ends at 0 and 100
	Lines   []Line
	Mark    *Mark // nil for none
}

// Mark is a place on the X axis of a figure, drawn as a vertical line.
type Mark struct {
	Name string
	X    float64
}

// draw draws the curves. Values that are no numbers leave a gap.
func (f Lines) draw(p *chart) error {
	if len(f.Lines) == 0 {
		return errNothing
	}
	p.label(f.Title, f.X, f.Y)
	var all []Point
	for i, l := range f.Lines {
		if l.Deviation != nil && len(l.Deviation) != len(l.Points) {
			return fmt.Errorf("%s: %d deviations of %d points", l.Name, len(l.Deviation), len(l.Points))
		}
		if l.Band {
			if err := addBand(p, l, lineColor(i)); err != nil {
				return fmt.Errorf("%s: %w", l.Name, err)
			}
		}
		var dashes []vg.Length
		if l.Dashed {
			dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		if err := addCurve(p, l.Name, l.Points, lineColor(i), dashes); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		for k, at := range l.Points {
			if l.Deviation == nil || !finitePoint(at) || !(l.Deviation[k] > 0) {
				all = append(all, at)
				continue
			}
			d := l.Deviation[k]
			if !l.Band {
				p.Add(bar{at.X, at.Y - d, at.Y + d, lineColor(i)})
			}
			all = append(all, Point{at.X, at.Y - d}, Point{at.X, at.Y + d})
		}
	}
	fit(p, all)
	p.X.Tick.Marker = niceTicks{whole: f.Whole}
	if f.Percent {
		p.Y.Min, p.Y.Max = max(0, p.Y.Min), min(100, p.Y.Max)
	}
	if f.Names != nil {
		p.X.Tick.Marker = nameTicks(p.names.all(f.Names))
		p.X.Min, p.X.Max = -.4, float64(len(f.Names))-.6
	}
	return p.mark(f.Mark)
}

// addBand fills the room of one deviation around the runs of finite points.
func addBand(p *chart, l Line, c color.NRGBA) error {
	c.A = 64
	upper, lower := make([]Point, len(l.Points)), make([]Point, len(l.Points))
	for i, at := range l.Points {
		upper[i], lower[i] = Point{at.X, at.Y + l.Deviation[i]}, Point{at.X, at.Y - l.Deviation[i]}
	}
	above, below := finiteRuns(upper), finiteRuns(lower) // of the same lengths
	for i, outline := range above {
		slices.Reverse(below[i])
		area, err := plotter.NewPolygon(append(outline, below[i]...))
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = c, 0
		p.Add(area)
	}
	return nil
}

func finitePoint(p Point) bool { return !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X+p.Y, 0) }

// lineColor is one of nine; further ones repeat them.
func lineColor(i int) color.NRGBA {
	return []color.NRGBA{
		blue, orange, green, purple, gray,
		{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255}, {150, 110, 60, 255},
	}[i%9]
}

// nameTicks puts names at 0, 1, 2, ...
type nameTicks []string

// Ticks implements plot.Ticker.
func (n nameTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for i, name := range n {
		if x := float64(i); x >= low && x <= high {
			ticks = append(ticks, plot.Tick{Value: x, Label: name})
		}
	}
	return ticks
}

// bar is an error bar.
type bar struct {
	x, low, high float64
	color        color.Color
}

// Plot implements plot.Plotter.
func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: b.color, Width: vg.Points(1)}
	c.StrokeLine2(style, x(b.x), y(b.low), x(b.x), y(b.high))
	for _, end := range []float64{b.low, b.high} {
		c.StrokeLine2(style, x(b.x)-vg.Points(3), y(end), x(b.x)+vg.Points(3), y(end))
	}
}

var _ plot.Plotter = bar{}
