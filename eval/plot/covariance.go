package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/vernier-ml/vernier/eval"
)

// maxCovarianceCells is the largest side that is drawn cell by cell; larger
// matrices are averaged down to it.
const maxCovarianceCells = 128

// Covariance is the covariance of coordinates (BRM Fig. 3): white is 0, blue
// negative, red positive, and the scale is that of the largest entry. The title
// says how far off-diagonal entries are from 0.
type Covariance struct{ Matrix mat.Symmetric }

func (v Covariance) draw(p *chart) error {
	cov := v.Matrix
	h := cov.SymmetricDim()
	g := newCovarianceGrid(cov)
	if !(g.largest > 0) || math.IsInf(g.largest, 1) {
		return fmt.Errorf("the largest covariance is %v", g.largest)
	}
	p.label(fmt.Sprintf("Covariance of %d coordinates, off diagonal %.1f%% of the variance", h, 100*eval.Decorrelation(cov)), "coordinate", "coordinate")
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{whole: true}, niceTicks{whole: true}
	p.Add(g)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.5, float64(h)+0.5, 0.5, float64(h)+0.5
	for _, e := range []struct {
		v    float64
		name string
	}{{-g.largest, "%.3g"}, {0, "0"}, {g.largest, "%.3g"}} {
		name := e.name
		if e.v != 0 {
			name = fmt.Sprintf(e.name, e.v)
		}
		p.entry(name, swatch{diverging(e.v / g.largest)})
	}
	return nil
}

// covarianceGrid draws a matrix with its first row at the bottom.
type covarianceGrid struct {
	cells   *mat.Dense
	h       int
	largest float64
}

func newCovarianceGrid(cov mat.Symmetric) *covarianceGrid {
	h := cov.SymmetricDim()
	n := min(h, maxCovarianceCells)
	g := &covarianceGrid{cells: mat.NewDense(n, n, nil), h: h}
	count := mat.NewDense(n, n, nil)
	for i := range h {
		for j := range h {
			a, b := i*n/h, j*n/h
			g.cells.Set(a, b, g.cells.At(a, b)+cov.At(i, j))
			count.Set(a, b, count.At(a, b)+1)
		}
	}
	g.cells.DivElem(g.cells, count)
	g.largest = math.Max(mat.Max(g.cells), -mat.Min(g.cells))
	return g
}

// Plot implements plot.Plotter.
func (g *covarianceGrid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n, _ := g.cells.Dims()
	edge := func(i int) float64 { return 0.5 + float64(i)*float64(g.h)/float64(n) }
	for i := range n {
		for j := range n {
			var cell vg.Path
			cell.Move(vg.Point{X: x(edge(j)), Y: y(edge(i))})
			cell.Line(vg.Point{X: x(edge(j + 1)), Y: y(edge(i))})
			cell.Line(vg.Point{X: x(edge(j + 1)), Y: y(edge(i + 1))})
			cell.Line(vg.Point{X: x(edge(j)), Y: y(edge(i + 1))})
			cell.Close()
			c.SetColor(diverging(g.cells.At(i, j) / g.largest))
			c.Fill(cell)
		}
	}
}

// diverging maps -1..1 to blue, white, red.
func diverging(v float64) color.NRGBA {
	end := color.NRGBA{178, 24, 43, 255}
	if v < 0 {
		end, v = color.NRGBA{33, 102, 172, 255}, -v
	}
	v = min(v, 1)
	mix := func(to uint8) uint8 { return uint8(math.Round(255 + v*(float64(to)-255))) }
	return color.NRGBA{mix(end.R), mix(end.G), mix(end.B), 255}
}

// swatch is a legend entry of one color.
type swatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	box := []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}}
	c.FillPolygon(s.Color, box)
	c.StrokeLines(draw.LineStyle{Color: gray, Width: vg.Points(0.5)}, append(box, box[0]))
}
