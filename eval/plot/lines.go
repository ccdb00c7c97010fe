package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a named curve of a figure.
type Line struct {
	Name   string
	Points []Point
	// Deviation, if not nil, is drawn as an error bar at each point.
	Deviation []float64
	Dashed    bool
}

// Lines is a figure of several curves.
type Lines struct {
	Title, X, Y string
	// Names, if not nil, stand at 0, 1, 2, ... of the X axis in place of numbers.
	Names []string
	Lines []Line
}

// Plot draws the figure as a PNG file. Values that are no numbers leave a gap.
func (f Lines) Plot(path string) error {
	if len(f.Lines) == 0 {
		return fmt.Errorf("plot: figure %s: nothing to draw", path)
	}
	p := newChart(f.Title, f.X, f.Y)
	var all []Point
	for i, l := range f.Lines {
		if l.Deviation != nil && len(l.Deviation) != len(l.Points) {
			return fmt.Errorf("plot: figure %s: %s: %d deviations of %d points", path, l.Name, len(l.Deviation), len(l.Points))
		}
		var dashes []vg.Length
		if l.Dashed {
			dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		if err := addCurve(p, l.Name, l.Points, lineColor(i), dashes); err != nil {
			return fmt.Errorf("plot: figure %s: %s: %w", path, l.Name, err)
		}
		for k, at := range l.Points {
			if l.Deviation == nil || !finitePoint(at) || !(l.Deviation[k] > 0) {
				all = append(all, at)
				continue
			}
			d := l.Deviation[k]
			p.Add(bar{at.X, at.Y - d, at.Y + d, lineColor(i)})
			all = append(all, Point{at.X, at.Y - d}, Point{at.X, at.Y + d})
		}
	}
	fit(p, all)
	p.X.Tick.Marker = niceTicks{}
	if f.Names != nil {
		p.X.Tick.Marker = nameTicks(p.names.all(f.Names))
		p.X.Min, p.X.Max = -.4, float64(len(f.Names))-.6
	}
	return p.save(path)
}

func finitePoint(p Point) bool { return !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X+p.Y, 0) }

// lineColor is one of nine; further ones repeat them.
func lineColor(i int) color.Color {
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
