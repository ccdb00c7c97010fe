package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Map is a projection to the plane: a square without axes, where the unit is as long
// on both of them. Colors of different classes may look alike.
type Map struct {
	Title  string
	XY     []float64 // X and Y of each point in turn; those that are no numbers are left out
	Labels []int     // class of each point, from 0
	Titles []string  // of each point, shown under the pointer by browsers
}

// mapRadius is that of a point.
const mapRadius = vg.Length(1.9)

func (m Map) draw(p *chart) error {
	if len(m.XY) != 2*len(m.Labels) || len(m.Titles) != len(m.Labels) {
		return fmt.Errorf("%d coordinates and %d titles for %d points", len(m.XY), len(m.Titles), len(m.Labels))
	}
	p.label(m.Title, "", "")
	p.height = p.width
	p.HideAxes()
	p.Add(m)
	if len(m.byClass()) == 0 {
		return errNothing
	}
	return nil
}

// byClass are the points that can be drawn, so that one class follows another.
func (m Map) byClass() []int {
	var list []int
	for i := range m.Labels {
		if finitePoint(m.at(i)) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return m.Labels[a] - m.Labels[b] })
	return list
}

func (m Map) at(i int) Point { return Point{m.XY[2*i], m.XY[2*i+1]} }

// Plot implements plot.Plotter.
func (m Map) Plot(c draw.Canvas, _ *plot.Plot) {
	list := m.byClass()
	low, high := m.at(list[0]), m.at(list[0])
	for _, i := range list {
		at := m.at(i)
		low, high = Point{min(low.X, at.X), min(low.Y, at.Y)}, Point{max(high.X, at.X), max(high.Y, at.Y)}
	}
	wide := max(high.X-low.X, high.Y-low.Y)
	if wide == 0 {
		wide = 1
	}
	size := c.Size()
	unit := (min(size.X, size.Y) - 2*mapRadius) / vg.Length(wide)
	center := c.Center()
	for _, i := range list {
		at := m.at(i)
		setTitle(c, m.Titles[i])
		c.DrawGlyph(draw.GlyphStyle{Color: classColor(m.Labels[i]), Radius: mapRadius, Shape: draw.CircleGlyph{}}, vg.Point{
			X: center.X + unit*vg.Length(at.X-(low.X+high.X)/2),
			Y: center.Y + unit*vg.Length(at.Y-(low.Y+high.Y)/2),
		})
	}
}

// classColor goes around the circle of hues by the golden angle, in three shades that
// stand out from a light and from a dark background. A little shines through.
func classColor(class int) color.NRGBA {
	shade := [...]palette.HSVA{{S: .82, V: .77}, {S: .73, V: .87}, {S: .55, V: .9}}[class%3]
	shade.H, shade.A = math.Mod(float64(class)*137.508, 360)/360, 1
	c := color.NRGBAModel.Convert(shade).(color.NRGBA)
	c.A = 217
	return c
}
