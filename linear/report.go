package linear

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
)

// Tally counts over tables how a reference learner fares against another one.
type Tally struct {
	Learner           string `json:"learner"`
	Win, Tie, Loss, N int
}

// Tallies compares the reference learner with every other one on each table by
// paired t-tests at a significance level, as the last lines of BRM Table 3 do.
// Tables on which either failed, or with fewer than two trials, do not count.
func Tallies(comparisons []*Comparison, reference string, level float64) []Tally {
	var out []Tally
	index := map[string]int{}
	for _, c := range comparisons {
		ref := c.Result(reference)
		for _, r := range c.Results {
			if r.Learner == reference {
				continue
			}
			if _, ok := index[r.Learner]; !ok {
				index[r.Learner] = len(out)
				out = append(out, Tally{Learner: r.Learner})
			}
			if ref == nil || ref.Failed != "" || r.Failed != "" {
				continue
			}
			v, err := Judge(ref.Errors, r.Errors, level)
			if err != nil {
				continue
			}
			t := &out[index[r.Learner]]
			t.N++
			switch v {
			case Win:
				t.Win++
			case Loss:
				t.Loss++
			default:
				t.Tie++
			}
		}
	}
	return out
}

// Verdict is the outcome of a comparison of errors.
type Verdict int

// A win is a significantly smaller error.
const (
	Tie Verdict = iota
	Win
	Loss
)

func (v Verdict) String() string { return [...]string{"tie", "win", "loss"}[v] }

// Judge compares the errors of the same trials at a significance level, such as
// 0.05: a win if a's are significantly smaller.
func Judge(a, b []float64, level float64) (Verdict, error) {
	t, p, err := eval.PairedT(a, b)
	switch {
	case err != nil:
		return Tie, err
	case p >= level:
		return Tie, nil
	case t < 0:
		return Win, nil
	}
	return Loss, nil
}

// WriteMarkdown writes comparisons as a Markdown table, one line a table: mean
// and deviation of the k-NN error in percent. Win/Tie/Loss lines of the
// references follow.
func WriteMarkdown(w io.Writer, comparisons []*Comparison, references []string, level float64) error {
	if len(comparisons) == 0 {
		return nil
	}
	var b strings.Builder
	head, rule := "| table (rows, columns, classes) |", "|---|"
	for _, r := range comparisons[0].Results {
		head += " " + r.Learner + " |"
		rule += "---|"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, rule)
	for _, c := range comparisons {
		fmt.Fprintf(&b, "| %s (%d, %d, %d) |", c.Table, c.Rows, c.Columns, c.Classes)
		best := c.best()
		for _, r := range c.Results {
			cell := fmt.Sprintf("%.2f ± %.2f", r.Mean, r.Std)
			switch {
			case r.Failed != "":
				cell = "failed"
			case r.Mean == best:
				cell = "**" + cell + "**"
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	for _, ref := range references {
		tallies := map[string]Tally{}
		for _, t := range Tallies(comparisons, ref, level) {
			tallies[t.Learner] = t
		}
		fmt.Fprintf(&b, "| %s: win/tie/loss against |", ref)
		for _, r := range comparisons[0].Results {
			t := tallies[r.Learner]
			cell := "-"
			if t.N > 0 {
				cell = fmt.Sprintf("%d/%d/%d", t.Win, t.Tie, t.Loss)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// best is the smallest mean error.
func (c *Comparison) best() float64 {
	best := 101.0
	for _, r := range c.Results {
		if r.Failed == "" {
			best = min(best, r.Mean)
		}
	}
	return best
}

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
	return plot.PNG(path, b)
}
