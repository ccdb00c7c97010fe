package plot

import (
	"math"
	"strings"
	"testing"
)

func TestPlotLines(t *testing.T) {
	f := Lines{Title: "Recall@1", X: "lambda", Y: "Recall@1 [%]", Lines: []Line{
		{Name: "triplet", Points: []Point{{0, 50}, {.2, 55}, {.4, 53}}, Deviation: []float64{1, 0, 2}},
		{Name: "npair", Points: []Point{{0, 51}, {.2, math.NaN()}, {.4, 58}}, Dashed: true},
	}}
	path := figure(t, "lines.png")
	must(t, PNG(path, f))
	wantPlot(t, path, blue, orange)

	f.Names = []string{"plain", "flow", "both"}
	for i := range f.Lines {
		for k := range f.Lines[i].Points {
			f.Lines[i].Points[k].X = float64(k)
		}
	}
	path = figure(t, "lines-names.png")
	must(t, PNG(path, f))
	wantPlot(t, path, blue, orange)
}

func TestPlotLinesRefusesWhatItCannotDraw(t *testing.T) {
	for says, f := range map[string]Lines{
		"nothing to draw":            {},
		"a: none of 1 points is":     {Lines: []Line{{Name: "a", Points: []Point{{0, math.NaN()}}}}},
		"a: 1 deviations of 2 point": {Lines: []Line{{Name: "a", Points: []Point{{0, 1}, {1, 1}}, Deviation: []float64{1}}}},
	} {
		if err := PNG(figure(t, "bad.png"), f); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
