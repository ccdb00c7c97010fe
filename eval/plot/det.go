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

// DET draws detection error trade-offs as a PNG file: FRR over FAR, both on
// normal deviates, where normal distances give straight lines (Martin et al.
// 1997). names go with curves; metric says what is thresholded. Curves that
// separate the pairs without an error have nothing to draw and stand in the
// legend only.
func DET(path, metric string, names []string, curves []*eval.ROC) error {
	if len(names) != len(curves) || len(curves) == 0 {
		return fmt.Errorf("plot: figure %s: %d names for %d curves", path, len(names), len(curves))
	}
	p := newChart("Detection error trade-off by "+metric, "false acceptance rate (FAR)", "false rejection rate (FRR)")
	low, high := normalDeviate(1e-3), normalDeviate(0.5)
	for i, r := range curves {
		far, frr := r.DET()
		points := make(plotter.XYs, len(far))
		for j := range points {
			points[j] = plotter.XY{X: far[j], Y: frr[j]}
			low = math.Min(low, math.Min(far[j], frr[j]))
			high = math.Max(high, math.Max(far[j], frr[j]))
		}
		eer, _ := r.EER()
		name := fmt.Sprintf("%s: EER %.2f%%", names[i], 100*eer)
		if len(points) == 0 {
			p.entry(name + " (no point with both errors)")
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("plot: figure %s: %s: %w", path, names[i], err)
		}
		line.Color, line.Width = curveColor(i), vg.Points(2)
		p.Add(line)
		p.entry(name, line)
	}
	equal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	equal.Color, equal.Dashes = gray, []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(equal)
	p.entry("equal errors", equal)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = low, high
		a.Tick.Marker = deviateTicks{}
	}
	return p.save(path)
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
