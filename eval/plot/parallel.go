package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Parallel draws points of many dimensions as lines across parallel axes. Each axis
// reaches from its least value to its largest; the better a line's rank, the bluer.
type Parallel struct {
	Title string
	Axes  []string
	// Lines hold a value for each axis; NaN leaves a gap.
	Lines [][]float64
	// Ranks order the lines: the largest is the best. The best tenth stands out.
	Ranks []float64
}

func (f Parallel) draw(p *chart) error {
	if len(f.Lines) == 0 || len(f.Axes) < 2 {
		return errNothing
	}
	if len(f.Ranks) != len(f.Lines) {
		return fmt.Errorf("%d ranks of %d lines", len(f.Ranks), len(f.Lines))
	}
	p.label(f.Title, "", "share of the range")
	low, high := make([]float64, len(f.Axes)), make([]float64, len(f.Axes))
	for k := range f.Axes {
		low[k], high[k] = math.Inf(1), math.Inf(-1)
		for i, l := range f.Lines {
			if len(l) != len(f.Axes) {
				return fmt.Errorf("line %d has %d values for %d axes", i+1, len(l), len(f.Axes))
			}
			if !math.IsNaN(l[k]) {
				low[k], high[k] = min(low[k], l[k]), max(high[k], l[k])
			}
		}
	}
	order := make([]int, len(f.Lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Ranks[a], f.Ranks[b]) }) // the best on top
	named := map[string]bool{}
	for place, i := range order {
		c, name := f.color(place), "others"
		if place >= len(order)-f.best() {
			name = "best tenth"
		}
		var points []Point
		for k, v := range f.Lines[i] {
			y := .5
			if high[k] > low[k] {
				y = (v - low[k]) / (high[k] - low[k])
			}
			if math.IsNaN(v) {
				y = math.NaN()
			}
			points = append(points, Point{float64(k), y})
		}
		for _, run := range finiteRuns(points) {
			line, err := plotter.NewLine(run)
			if err != nil {
				return err
			}
			line.LineStyle.Color, line.LineStyle.Width = c, vg.Points(1)
			p.Add(line)
			if !named[name] {
				p.entry(name, line)
				named[name] = true
			}
		}
	}
	p.X.Tick.Marker = nameTicks(p.names.all(f.Axes))
	p.X.Min, p.X.Max = -.4, float64(len(f.Axes))-.6
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "least"}, {Value: .5}, {Value: 1, Label: "largest"}}
	return nil
}

func (f Parallel) best() int { return max(1, len(f.Lines)/10) }

// color is that of the line of a place, from the worst on.
func (f Parallel) color(place int) color.Color {
	if place >= len(f.Lines)-f.best() {
		return blue
	}
	if 2*place >= len(f.Lines) {
		return gray
	}
	return faint
}
