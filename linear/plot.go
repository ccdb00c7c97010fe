package linear

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/eval/plot"
)

// PlotErrors draws the errors of comparisons as a PNG file: a group of bars a
// table, a bar a learner, with error bars of one deviation (BRM Fig. 11).
func PlotErrors(path, title string, comparisons []*Comparison) error {
	if len(comparisons) == 0 {
		return fmt.Errorf("figure %s: nothing to draw", path)
	}
	b := plot.Bars{Title: title, Figure: "k-NN error [%], ± one deviation"}
	for _, r := range comparisons[0].Results {
		b.Series = append(b.Series, r.Learner)
	}
	for _, c := range comparisons {
		b.Categories = append(b.Categories, c.Table)
		mean, std := make([]float64, len(b.Series)), make([]float64, len(b.Series))
		for i, name := range b.Series {
			mean[i] = math.NaN()
			if got := c.Result(name); got != nil && got.Failed == "" {
				mean[i], std[i] = got.Mean, got.Std
			}
		}
		b.Mean, b.Std = append(b.Mean, mean), append(b.Std, std)
	}
	return plot.DrawBars(path, b)
}
