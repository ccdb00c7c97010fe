package plot

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/vernier-ml/vernier/eval"
)

// rateTicks are rates on an axis of normal deviates.
var rateTicks = [...]float64{1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95}

// DET are detection error trade-offs: FRR over FAR, both on normal deviates, where
// normal distances give straight lines (Martin et al. 1997). Names go with curves;
// Metric says what is thresholded. Curves that separate the pairs without an error
// have nothing to draw and stand in the legend only.
type DET struct {
	Metric string
	Names  []string
	Curves []*eval.ROC
}

func (d DET) draw(p *chart) error {
	if len(d.Names) != len(d.Curves) || len(d.Curves) == 0 {
		return fmt.Errorf("%d names for %d curves", len(d.Names), len(d.Curves))
	}
	p.label("Detection error trade-off by "+d.Metric, "false acceptance rate (FAR)", "false rejection rate (FRR)")
	low, high := normalDeviate(1e-3), normalDeviate(0.5)
	for i, r := range d.Curves {
		var points plotter.XYs
		for _, at := range r.Curve(p.curvePoints) {
			if far, frr := at.FAR, 1-at.TAR; far > 0 && far < 1 && frr > 0 && frr < 1 {
				x, y := normalDeviate(far), normalDeviate(frr)
				points = append(points, plotter.XY{X: x, Y: y})
				low, high = min(low, x, y), max(high, x, y)
			}
		}
		eer, _ := r.EER()
		name := fmt.Sprintf("%s: EER %.2f%%", d.Names[i], 100*eer)
		if len(points) == 0 {
			p.entry(name + " (no point with both errors)")
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Names[i], err)
		}
		line.Color, line.Width = curveColor(i), vg.Points(2)
		p.Add(line)
		p.entry(name, line)
	}
	equal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return err
	}
	equal.Color, equal.Dashes = gray, []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(equal)
	p.entry("equal errors", equal)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = low, high
		a.Tick.Marker = deviateTicks{}
	}
	return nil
}

// deviateTicks labels normal deviates by their rates.
type deviateTicks struct{}

// Ticks implements plot.Ticker.
func (deviateTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for _, rate := range rateTicks {
		if at := normalDeviate(rate); at >= low && at <= high {
			ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(100*rate, 'g', -1, 64) + "%"})
		}
	}
	return ticks
}

// normalDeviate is the inverse of the normal distribution function.
func normalDeviate(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
