package plot

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter are points of the plane, colored by the class that they belong to.
type Scatter struct {
	Title, XName, YName string
	X, Y                []float64
	Labels              []int // of each point, an index of Classes; others are not drawn
	Classes             []string
}

func (s Scatter) draw(p *chart) error {
	p.label(s.Title, s.XName, s.YName)
	var all []Point
	for k, name := range s.Classes {
		var points plotter.XYs
		for i, label := range s.Labels {
			if label == k {
				points = append(points, plotter.XY{X: s.X[i], Y: s.Y[i]})
				all = append(all, Point{s.X[i], s.Y[i]})
			}
		}
		if len(points) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: manyColors(k), Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
		p.Add(marks)
		p.entry(name, marks)
	}
	if len(all) == 0 {
		return errNothing
	}
	return nil
}
