package plot

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is one point of a curve.
type Point struct{ X, Y float64 }

// Loss is the loss of a run. Values that are no numbers leave a gap.
type Loss struct {
	Name   string // of the loss
	X      string // what the X of points counts: "epoch", "step"
	Points []Point
}

func (l Loss) draw(p *chart) error {
	p.label("Training loss", l.X, "loss ("+l.Name+")")
	if err := addCurve(p, "", l.Points, blue, nil); err != nil {
		return fmt.Errorf("loss: %w", err)
	}
	fit(p, l.Points)
	return nil
}

// Recall is Recall@1 by epoch, in percent.
type Recall struct {
	Metric string // the distance that ranks
	// Validation is on a part of the training classes: it picks the best epoch.
	// Test is on classes never seen, for the record only. One of them may be empty.
	Validation, Test []Point
	// Averaged is Validation of the model with averaged weights; may be empty.
	Averaged []Point
	// Best is the epoch that validation picked; NaN marks none.
	Best float64
}

// draw draws both curves, test in another color with diamonds and a broken line,
// so that nobody takes it for what picked the epoch.
func (r Recall) draw(p *chart) error {
	p.label("Recall@1 by epoch", "epoch", "Recall@1 [%], nearest by "+r.Metric)
	if len(r.Validation)+len(r.Test) == 0 {
		return errors.New("neither validation nor test has points")
	}
	if len(r.Validation) > 0 {
		if err := addCurve(p, "validation (part of the training classes)", r.Validation, blue, nil); err != nil {
			return fmt.Errorf("validation: %w", err)
		}
	}
	if len(r.Averaged) > 0 {
		if err := addCurve(p, "validation, averaged weights", r.Averaged, green, nil); err != nil {
			return fmt.Errorf("validation of averaged weights: %w", err)
		}
	}
	if len(r.Test) > 0 {
		if err := addCurve(p, "test classes (never used to choose)", r.Test, orange, []vg.Length{vg.Points(5), vg.Points(3)}); err != nil {
			return fmt.Errorf("test: %w", err)
		}
	}
	all := slices.Concat(r.Validation, r.Averaged, r.Test)
	fit(p, all)
	p.Y.Min, p.Y.Max = max(0, p.Y.Min), min(100, p.Y.Max)
	if !math.IsNaN(r.Best) {
		return p.mark(&Mark{"best by validation", r.Best})
	}
	return nil
}

// addCurve draws the runs of finite points, with markers where they are few.
// A dashed curve has diamonds, others have dots.
func addCurve(p *chart, name string, points []Point, c color.Color, dashes []vg.Length) error {
	runs := finiteRuns(points)
	if len(runs) == 0 {
		return fmt.Errorf("none of %d points is a number", len(points))
	}
	shape := draw.GlyphDrawer(draw.CircleGlyph{})
	if dashes != nil {
		shape = diamond{}
	}
	var legend []plot.Thumbnailer
	for _, run := range runs {
		line, err := plotter.NewLine(run)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(2), Dashes: dashes}
		p.Add(line)
		thumbnails := []plot.Thumbnailer{line}
		if len(points) <= 60 || len(run) == 1 {
			dots, err := plotter.NewScatter(run)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.5), Shape: shape}
			p.Add(titled{dots, titles(cmp.Or(name, p.Y.Label.Text), p.X.Label.Text, run)})
			thumbnails = append(thumbnails, dots)
		}
		if legend == nil {
			legend = thumbnails
		}
	}
	if name != "" {
		p.entry(name, legend...)
	}
	return nil
}

func finiteRuns(points []Point) (runs []plotter.XYs) {
	open := false
	for _, pt := range points {
		if s := pt.X + pt.Y; math.IsNaN(s) || math.IsInf(s, 0) {
			open = false
			continue
		}
		if !open {
			runs = append(runs, nil)
			open = true
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], plotter.XY{X: pt.X, Y: pt.Y})
	}
	return runs
}

// fit gives the axes room around the finite points, also around a single one.
func fit(p *chart, points []Point) {
	x, y := []float64{math.Inf(1), math.Inf(-1)}, []float64{math.Inf(1), math.Inf(-1)}
	for _, run := range finiteRuns(points) {
		for _, pt := range run {
			x[0], x[1] = min(x[0], pt.X), max(x[1], pt.X)
			y[0], y[1] = min(y[0], pt.Y), max(y[1], pt.Y)
		}
	}
	p.X.Tick.Marker = niceTicks{whole: true} // epochs or steps
	p.X.Min, p.X.Max = room(x[0], x[1], 0.02)
	p.Y.Min, p.Y.Max = room(y[0], y[1], 0.06)
}

func room(low, high, share float64) (float64, float64) {
	wide := high - low
	if wide == 0 {
		return low - max(1, math.Abs(low)/10), high + max(1, math.Abs(high)/10)
	}
	return low - share*wide, high + share*wide
}

// mark draws m over the whole height of the Y axis, unless it is nil.
func (c *chart) mark(m *Mark) error {
	if m == nil {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: m.X, Y: c.Y.Min}, {X: m.X, Y: c.Y.Max}})
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: gray, Width: vg.Points(1.2), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	c.Add(line)
	c.entry(m.Name, line)
	return nil
}

// titled are marks that tell their titles, where the canvas can.
type titled struct {
	*plotter.Scatter
	titles []string
}

// titles say of every point what it is.
func titles(y, x string, points plotter.XYs) []string {
	list := make([]string, len(points))
	for i, at := range points {
		list[i] = fmt.Sprintf("%s %.4g at %s %v", y, at.Y, x, at.X)
	}
	return list
}

// Plot implements plot.Plotter.
func (s titled) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, at := range s.XYs {
		setTitle(c, s.titles[i])
		c.DrawGlyph(s.GlyphStyle, vg.Point{X: x(at.X), Y: y(at.Y)})
	}
}

// diamond is a filled diamond.
type diamond struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	r := sty.Radius * 1.3
	var path vg.Path
	path.Move(vg.Point{X: at.X, Y: at.Y + r})
	path.Line(vg.Point{X: at.X + r, Y: at.Y})
	path.Line(vg.Point{X: at.X, Y: at.Y - r})
	path.Line(vg.Point{X: at.X - r, Y: at.Y})
	path.Close()
	c.SetColor(sty.Color)
	c.Fill(path)
}
