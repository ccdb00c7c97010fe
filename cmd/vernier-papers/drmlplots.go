package main

import (
	"encoding/csv"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// saveCurves writes the points of all curves as CSV.
func saveCurves(path string, runs []*drmlRun) error {
	return wholefile.Write(path, func(w io.Writer) error {
		rows := [][]string{{"run", "epoch", "steps", "mode", "R@1", "NMI", "F1"}}
		for _, r := range runs {
			if r.Trial == nil {
				continue
			}
			for _, p := range r.Trial.Curve {
				add := func(mode string, f run.TestFigures) {
					text := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
					rows = append(rows, []string{r.Name, strconv.Itoa(p.Epoch), strconv.Itoa(p.Steps), mode, text(f.Recall1), text(100 * f.NMI), text(100 * f.F1)})
				}
				add("alone", p.Alone)
				if p.Shuffled != nil {
					add("shuffled", *p.Shuffled)
				}
			}
		}
		return csv.NewWriter(w).WriteAll(rows)
	})
}

// plot draws what there is, each image alone and shuffled batches in figures of
// their own.
func (f *drmlAblation) plot() error {
	for _, m := range drmlModes()[:2] {
		for _, part := range f.parts {
			var err error
			switch part {
			case "lambda":
				if err = f.plotPoints(part, "lambda", m); err == nil {
					err = f.plotCurves(part, m, func(g *drmlGroup) string { return "lambda " + strconv.FormatFloat(g.x, 'g', -1, 64) })
				}
			case "batch":
				err = f.plotPoints(part, "images a batch", m)
			case "convergence":
				err = f.plotCurves(part, m, func(g *drmlGroup) string { return g.line })
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// title says what is on the axis: only what is of images alone is Recall@1.
func (f *drmlAblation) title(figure string, m drmlMode) (title, axis string) {
	axis = figure + " [%]"
	if m.name != "alone" {
		axis = strings.Replace(axis, "R@1", "nearest of its class", 1)
		return filepath.Base(f.data) + ", " + m.name + " batches mixed by geometry flow", axis
	}
	return filepath.Base(f.data) + ", each image alone", strings.Replace(axis, "R@1", "Recall@1", 1)
}

// plotPoints draws R@1, NMI and F1 by x.
func (f *drmlAblation) plotPoints(part, x string, m drmlMode) error {
	for _, fig := range drmlFigures([]int{1}) {
		if fig.name == "MAP@R" {
			continue
		}
		title, axis := f.title(fig.name, m)
		figure := plot.Lines{Title: title, X: x, Y: axis}
		at := map[string]int{}
		for _, g := range f.groups[part] {
			s := summarize(g.runs, m, fig)
			if s.n == 0 && m.name != "alone" { // without flow a batch changes nothing
				s = summarize(g.runs, drmlModes()[0], fig)
			}
			if s.n == 0 {
				continue
			}
			k, ok := at[g.line]
			if !ok {
				k = len(figure.Lines)
				at[g.line] = k
				figure.Lines = append(figure.Lines, plot.Line{Name: g.line, Dashed: strings.HasSuffix(g.line, "lambda 0")})
			}
			l := &figure.Lines[k]
			l.Points, l.Deviation = append(l.Points, plot.Point{X: g.x, Y: s.mean}), append(l.Deviation, s.std)
		}
		if err := f.draw(figure, part, fig.name, m); err != nil {
			return err
		}
	}
	return nil
}

// plotCurves draws R@1, NMI and F1 by steps, a figure a loss.
func (f *drmlAblation) plotCurves(part string, m drmlMode, name func(g *drmlGroup) string) error {
	for _, fig := range []string{"R@1", "NMI", "F1"} {
		for _, loss := range f.lossesOf(part) {
			title, axis := f.title(fig, m)
			figure := plot.Lines{Title: loss + " on " + title, X: "step", Y: axis}
			for _, g := range f.groups[part] {
				if g.loss != loss {
					continue
				}
				l := meanCurve(g.runs, m, fig)
				if len(l.Points) == 0 {
					continue
				}
				l.Name, l.Dashed = name(g), strings.HasPrefix(name(g), "lambda 0,") || name(g) == "lambda 0"
				figure.Lines = append(figure.Lines, l)
			}
			if err := f.draw(figure, part+"-curve-"+loss, fig, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *drmlAblation) lossesOf(part string) (list []string) {
	for _, g := range f.groups[part] {
		if !slices.Contains(list, g.loss) {
			list = append(list, g.loss)
		}
	}
	return list
}

// meanCurve is the mean over the runs that have come as far.
func meanCurve(runs []*drmlRun, m drmlMode, fig string) (l plot.Line) {
	for k := 0; ; k++ {
		var v []float64
		steps := 0
		for _, r := range runs {
			if r.Trial == nil || k >= len(r.Trial.Curve) {
				continue
			}
			p := r.Trial.Curve[k]
			x := p.Alone
			if m.name != "alone" && p.Shuffled != nil {
				x = *p.Shuffled
			}
			steps = p.Steps
			v = append(v, map[string]float64{"R@1": x.Recall1, "NMI": 100 * x.NMI, "F1": 100 * x.F1}[fig])
		}
		if len(v) == 0 {
			return l
		}
		s := summaryOf(v)
		l.Points, l.Deviation = append(l.Points, plot.Point{X: float64(steps), Y: s.mean}), append(l.Deviation, s.std)
	}
}

// draw writes a figure that has something in it.
func (f *drmlAblation) draw(figure plot.Lines, part, fig string, m drmlMode) error {
	if len(figure.Lines) == 0 {
		return nil
	}
	name := strings.ToLower(strings.ReplaceAll(part+"-"+fig+"-"+m.name, "@", "")) + ".png"
	return plot.PNG(filepath.Join(f.out, name), figure)
}
