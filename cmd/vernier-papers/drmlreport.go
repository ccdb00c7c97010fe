package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/train"
)

// drmlMode is a way to feed the images that a model is measured on.
type drmlMode struct {
	name string
	of   func(t *train.Trial) *eval.Figures // nil where there is none
}

// drmlModes are all of them. Only the first one is Recall@K.
func drmlModes() []drmlMode {
	return []drmlMode{
		{"alone", func(t *train.Trial) *eval.Figures { return t.Alone }},
		{"shuffled", func(t *train.Trial) *eval.Figures {
			if t.Mixed == nil {
				return nil
			}
			return t.Mixed.Shuffled
		}},
		{"class-sorted", func(t *train.Trial) *eval.Figures {
			if t.Mixed == nil {
				return nil
			}
			return t.Mixed.ClassSorted
		}},
	}
}

// drmlFigure is a figure in percent.
type drmlFigure struct {
	name string
	of   func(f *eval.Figures) float64
}

// drmlFigures are Recall@K for each K and the clustering figures.
func drmlFigures(ks []int) []drmlFigure {
	var list []drmlFigure
	for _, k := range ks {
		list = append(list, drmlFigure{fmt.Sprintf("R@%d", k), func(f *eval.Figures) float64 {
			v, _ := f.RecallAt(k)
			return v
		}})
	}
	percent := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return 100 * *v
	}
	return append(list,
		drmlFigure{"MAP@R", func(f *eval.Figures) float64 { return 100 * f.MAPAtR }},
		drmlFigure{"NMI", func(f *eval.Figures) float64 { return percent(f.NMI) }},
		drmlFigure{"F1", func(f *eval.Figures) float64 { return percent(f.F1) }})
}

// drmlKs are those of the tables.
var drmlKs = []int{1, 2, 4, 8}

// summary is mean and deviation over runs.
type summary struct {
	mean, std float64
	n         int
}

// summarize takes the figure of the runs that have it.
func summarize(runs []*drmlRun, m drmlMode, f drmlFigure) summary {
	var v []float64
	for _, r := range runs {
		if r.Trial == nil {
			continue
		}
		if figures := m.of(r.Trial); figures != nil {
			v = append(v, f.of(figures))
		}
	}
	return summaryOf(v)
}

func summaryOf(v []float64) summary {
	s := summary{math.NaN(), 0, len(v)}
	if len(v) > 0 {
		s.mean = stat.Mean(v, nil)
	}
	if len(v) > 1 {
		s.std = stat.StdDev(v, nil)
	}
	return s
}

// String is mean ± deviation with one digit; "-" if no run has the figure.
func (s summary) String() string {
	switch {
	case s.n == 0:
		return "-"
	case s.n == 1:
		return fmt.Sprintf("%.1f", s.mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", s.mean, s.std)
}

// writeTable writes rows as Markdown.
func writeTable(w io.Writer, head []string, rows [][]string) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
	fmt.Fprintln(w)
}

// stepTime is the mean over runs of the median time of a step, in milliseconds.
func stepTime(runs []*drmlRun) string {
	var v []float64
	for _, r := range runs {
		if r.Trial != nil {
			v = append(v, 1000*r.Trial.StepSeconds)
		}
	}
	return summaryOf(v).String()
}

// saveRuns writes every figure of every run as CSV, and the runs as JSON.
func saveRuns(folder, name string, runs []*drmlRun) error {
	figures := drmlFigures(drmlKs)
	err := wholefile.Write(filepath.Join(folder, name+".csv"), func(w io.Writer) error {
		c := csv.NewWriter(w)
		head := []string{"run", "loss", "variant", "seed", "mode"}
		for _, f := range figures {
			head = append(head, f.name)
		}
		rows := [][]string{append(head, "epoch", "step_seconds")}
		for _, r := range runs {
			if r.Trial == nil {
				continue
			}
			for _, m := range drmlModes() {
				x := m.of(r.Trial)
				if x == nil {
					continue
				}
				row := []string{r.Name, r.Loss, r.Variant, strconv.FormatUint(r.Seed, 10), m.name}
				for _, f := range figures {
					row = append(row, strconv.FormatFloat(f.of(x), 'f', 3, 64))
				}
				rows = append(rows, append(row, strconv.Itoa(r.Trial.Epoch), strconv.FormatFloat(r.Trial.StepSeconds, 'g', 4, 64)))
			}
		}
		return c.WriteAll(rows)
	})
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(folder, name+".json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(runs)
	})
}
