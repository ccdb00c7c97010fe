package linear

import (
	"fmt"
	"io"
	"strings"
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
