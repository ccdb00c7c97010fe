package tune

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/report"
	"github.com/vernier-ml/vernier/train/tune/tpe"
)

// Report writes a page of HTML with the table, and of each study its history, the
// importance of parameters, slices, parallel coordinates and trials.
func (f *File) Report(dir string, studies []*Study, t *Table) error {
	d := &report.Document{
		Title: "Tuning: " + filepath.Base(f.Name),
		Lead: fmt.Sprintf("%s, up to %s each, measured by %s on %d folds of the training classes (%s epoch). Test classes were measured at the end alone, with %s of each variant's best settings.",
			plural.Of(len(studies), "variant"), plural.Of(f.Trials, "trial"), f.Figure, f.Folds, f.epoch(), plural.Of(f.Seeds, "seed")),
	}
	d.Chapters = append(d.Chapters, t.chapter())
	for _, s := range studies {
		c, err := s.chapter()
		if err != nil {
			return err
		}
		d.Chapters = append(d.Chapters, c...)
	}
	return wholefile.Write(filepath.Join(dir, ReportFile), func(w io.Writer) error { return d.Write(w) })
}

func (f *File) epoch() string {
	if f.Best {
		return "best"
	}
	return "last"
}

func (t *Table) chapter() *report.Chapter {
	c := &report.Chapter{Title: "Variants", Note: "Means ± deviations over seeds on the test classes; paired t-tests over seeds, Holm: corrected for all tests of a figure.",
		Table: &report.Table{Columns: []string{"variant", "trials", t.Figure, "best settings"}}}
	for _, name := range t.Names {
		c.Table.Columns = append(c.Table.Columns, title(name))
	}
	c.Table.Columns = append(c.Table.Columns, "R@1 against baseline")
	for _, r := range t.Rows {
		row := []string{r.Variant, r.trials(), "–", "–"}
		if r.Best != nil {
			row[2], row[3] = decimal(r.Best.Value), r.Best.text()
		}
		for _, name := range t.Names {
			row = append(row, r.Figures[name].text(name))
		}
		c.Table.Rows = append(c.Table.Rows, append(row, strings.ReplaceAll(r.Figures["recall@1"].Test.text(), "**", "")))
	}
	return c
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// chapter draws what became of a study.
func (s *Study) chapter() ([]*report.Chapter, error) {
	trials := s.Trials()
	if len(trials) == 0 {
		return nil, nil
	}
	c := &report.Chapter{Title: s.Variant.Name}
	if err := c.Add(s.history(trials), "Value of each complete trial, and the best so far"); err != nil {
		return nil, err
	}
	if share := s.Importance(); share != nil {
		if err := c.Add(s.importance(share), "Importance of parameters: how far the best quarter of trials differs from all (PED-ANOVA), in shares of 1"); err != nil {
			return nil, err
		}
	}
	for _, d := range s.space {
		if f, has := s.slice(d, trials); has {
			if err := c.Add(f, "Trials by "+d.param.Name); err != nil {
				return nil, err
			}
		}
	}
	if len(s.space) > 0 {
		if err := c.Add(s.parallel(trials), "Each line is a trial across its parameters to its value"); err != nil {
			return nil, err
		}
	}
	c.Table = &report.Table{Columns: []string{"trial", "state", s.file.Figure, "settings", "epochs", "seconds"}}
	for _, t := range trials {
		settings := t.text()
		if t.Why != "" {
			settings += ": " + t.Why
		}
		c.Table.Rows = append(c.Table.Rows, []string{strconv.Itoa(t.Number + 1), string(t.State), decimal(t.Value), settings,
			fmt.Sprintf("%d of %d", len(t.Values), t.Steps), strconv.FormatFloat(t.Seconds, 'f', 0, 64)})
	}
	return []*report.Chapter{c}, nil
}

func (s *Study) history(trials []*Trial) plot.Figure {
	var values, best []plot.Point
	top := math.Inf(-1)
	for _, t := range trials {
		x := float64(t.Number + 1)
		if t.State == Complete {
			values, top = append(values, plot.Point{X: x, Y: t.Value}), max(top, t.Value)
		}
		if !math.IsInf(top, 0) {
			best = append(best, plot.Point{X: x, Y: top})
		}
	}
	if len(values) == 0 {
		values, best = []plot.Point{{X: 1, Y: 0}}, []plot.Point{{X: 1, Y: 0}}
	}
	return plot.Lines{Title: "History", X: "trial", Y: s.file.Figure, Whole: true, Lines: []plot.Line{{Name: "trial", Points: values, Dashed: true}, {Name: "best so far", Points: best}}}
}

func (s *Study) importance(share map[string]float64) plot.Figure {
	b := plot.Bars{Title: "Importance", Figure: "share", Series: []string{"importance"}}
	list := slices.Clone(s.space)
	slices.SortStableFunc(list, func(a, b dimension) int {
		switch x, y := share[a.param.Name], share[b.param.Name]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, d := range list {
		b.Categories = append(b.Categories, short(d.param.Name))
		b.Mean, b.Std = append(b.Mean, []float64{share[d.param.Name]}), append(b.Std, []float64{0})
	}
	return b
}

// short is a place without its groups.
func short(place string) string { return place[strings.LastIndex(place, ".")+1:] }

// axis is where a value of a parameter is drawn.
func (d dimension) axis(v float64) float64 {
	if d.param.Kind == tpe.Log {
		return math.Log10(v)
	}
	return v
}

func (d dimension) axisName() string {
	switch d.param.Kind {
	case tpe.Log:
		return "log10 " + short(d.param.Name)
	case tpe.Choice:
		var labels []string
		for i, o := range d.choices {
			labels = append(labels, fmt.Sprintf("%d: %s", i, o.label))
		}
		return short(d.param.Name) + " (" + strings.Join(labels, ", ") + ")"
	}
	return short(d.param.Name)
}

// slice draws the value of trials over one parameter.
func (s *Study) slice(d dimension, trials []*Trial) (plot.Figure, bool) {
	f := plot.Scatter{Title: d.param.Name, XName: d.axisName(), YName: s.file.Figure, Classes: []string{"complete", "stopped early"}}
	for _, t := range trials {
		v, has := t.Params[d.param.Name]
		if !has || t.State == Failed {
			continue
		}
		f.X, f.Y = append(f.X, d.axis(v)), append(f.Y, t.Value)
		label := 0
		if t.State == Stopped {
			label = 1
		}
		f.Labels = append(f.Labels, label)
	}
	return f, len(f.X) > 0
}

func (s *Study) parallel(trials []*Trial) plot.Figure {
	f := plot.Parallel{Title: "Parallel coordinates"}
	for _, d := range s.space {
		f.Axes = append(f.Axes, short(d.param.Name))
	}
	f.Axes = append(f.Axes, s.file.Figure)
	for _, t := range trials {
		if t.State == Failed {
			continue
		}
		var line []float64
		for _, d := range s.space {
			v, has := t.Params[d.param.Name]
			if !has {
				line = append(line, math.NaN())
				continue
			}
			line = append(line, d.axis(v))
		}
		f.Lines, f.Ranks = append(f.Lines, append(line, t.Value)), append(f.Ranks, t.Value)
	}
	if len(f.Lines) == 0 {
		f.Lines, f.Ranks = [][]float64{make([]float64, len(f.Axes))}, []float64{0}
	}
	return f
}
