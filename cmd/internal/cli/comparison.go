package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

// ComparisonFlags choose the linear learners that are compared on tables, the paired tests
// between them, and where the figures go.
type ComparisonFlags struct {
	Learners   []string
	References []string // learners whose wins and losses are counted
	Trials     int      // random splits
	Level      float64  // of significance
	Markdown   string   // file, "" for none
	JSON       string   // file, "" for none, "-" for standard output
	Plot       string   // PNG file, "" for none

	flags *pflag.FlagSet
}

// Add adds the flags to a command. learners and references are the defaults of --learners
// and --reference.
func (f *ComparisonFlags) Add(cmd *cobra.Command, learners, references []string) {
	fl := cmd.Flags()
	f.flags = fl
	fl.StringSliceVar(&f.Learners, "learners", learners, "learners to compare, separated by commas; vernier linear list shows them")
	fl.StringSliceVar(&f.References, "reference", references, "methods whose wins, ties and losses against the others are counted (by default those that --learners names too)")
	fl.IntVar(&f.Trials, "trials", 20, "number of random splits")
	fl.Float64Var(&f.Level, "level", .05, "significance level of the paired t-tests")
	fl.StringVar(&f.Markdown, "markdown", "", "also write the table as Markdown to this file")
	fl.StringVar(&f.JSON, "json", "", "also write every figure as JSON to this file; - for standard output instead of the table")
	fl.StringVar(&f.Plot, "plot", "", "also draw bars with error bars as PNG to this file")
}

// Complete checks the flags once they are parsed, and returns the learners in the order of
// --learners. References that --learners does not name are left out if the user named none.
// Its errors are usage errors.
func (f *ComparisonFlags) Complete() ([]linear.Candidate, error) {
	if len(f.Learners) == 0 {
		return nil, Usagef("--learners is empty: vernier linear list shows what there is")
	}
	c, err := linear.Candidates(f.Learners)
	if err != nil {
		return nil, Usagef("--learners: %w", err)
	}
	for i, l := range f.Learners {
		if slices.Contains(f.Learners[:i], l) {
			return nil, Usagef("--learners: %s is there twice", l)
		}
	}
	if !f.flags.Changed("reference") {
		f.References = slices.DeleteFunc(slices.Clone(f.References), func(r string) bool { return !slices.Contains(f.Learners, r) })
	}
	for _, r := range f.References {
		if !slices.Contains(f.Learners, r) {
			return nil, Usagef("--reference %q: --learners are %s", r, strings.Join(f.Learners, ", "))
		}
	}
	return c, nil
}

// Compare compares the candidates on one table, and logs each trial and what a reader of
// the figures should know: constant columns, duplicated rows, rows without a label, learners
// that failed. If all of them failed, it returns an error.
func Compare(cmd *cobra.Command, log *logrus.Logger, t *linear.Table, candidates []linear.Candidate, opt linear.Trials) (*linear.Comparison, error) {
	last := len(candidates) - 1
	opt.Progress = func(trial int, learner string, _ float64) {
		if learner == candidates[last].Name {
			log.Infof("%s: trial %d of %d done", t.Name, trial+1, opt.Trials)
		}
	}
	c, err := linear.Compare(cmd.Context(), t, candidates, opt)
	if err != nil {
		return nil, err
	}
	WarnConstant(log, c.Constant)
	if c.Duplicates > 0 {
		log.Warnf("%s: on average %.1f test rows equal a training row, %.1f of them with another label", t.Name, c.Duplicates, c.Conflicting)
	}
	if c.Unlabeled > 0 {
		log.Warnf("%s: %s without a label took no part", t.Name, plural.Of(c.Unlabeled, "row"))
	}
	failed := 0
	for _, r := range c.Results {
		if r.Failed != "" {
			failed++
			log.Warnf("%s: %s", t.Name, r.Failed)
		}
		for _, n := range r.Notes {
			log.Infof("%s, %s: %s", t.Name, r.Learner, n)
		}
	}
	if failed == len(c.Results) {
		return nil, fmt.Errorf("%s: no learner learned anything: %s", t.Name, c.Results[0].Failed)
	}
	return c, nil
}

// Report prints comparisons to w and writes the files that --markdown, --json and --plot ask
// for; title is that of the plot. --json - prints JSON instead of the table.
func (f *ComparisonFlags) Report(w io.Writer, title string, done []*linear.Comparison) error {
	asJSON := func(w io.Writer) error { return WriteJSON(w, done) }
	if f.Markdown != "" {
		if err := wholefile.Write(f.Markdown, func(w io.Writer) error { return linear.WriteMarkdown(w, done, f.References, f.Level) }); err != nil {
			return err
		}
	}
	if f.Plot != "" {
		if err := linear.PlotErrors(f.Plot, title, done); err != nil {
			return err
		}
	}
	switch f.JSON {
	case "-":
		return asJSON(w)
	case "":
	default:
		if err := wholefile.Write(f.JSON, asJSON); err != nil {
			return err
		}
	}
	return f.print(w, done)
}

// print writes a table a person can read: a line a method, a column a table.
func (f *ComparisonFlags) print(w io.Writer, done []*linear.Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, c := range done {
		fmt.Fprintf(t, "%s\t", c.Table)
	}
	for _, r := range f.References {
		fmt.Fprintf(t, "%s against it\t", r)
	}
	fmt.Fprintln(t, "fit s\t")
	for i, r := range done[0].Results {
		fmt.Fprintf(t, "%s\t", r.Learner)
		seconds := 0.0
		for _, c := range done {
			if got := c.Results[i]; got.Failed != "" {
				fmt.Fprint(t, "failed\t")
			} else {
				fmt.Fprintf(t, "%.2f ± %.2f\t", got.Mean, got.Std)
				seconds += got.Seconds
			}
		}
		for _, ref := range f.References {
			fmt.Fprintf(t, "%s\t", tallyOf(linear.Tallies(done, ref, f.Level), r.Learner))
		}
		fmt.Fprintf(t, "%.2f\t\n", seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	c := done[0]
	tests := ""
	if len(f.References) > 0 {
		tests = fmt.Sprintf("; win/tie/loss over tables by paired t-tests at %v", f.Level)
	}
	_, err := fmt.Fprintf(w, "\n%d-NN error in percent, mean ± deviation of %s (%.0f%% train)%s\n", c.K, plural.Of(c.Trials, "random split"), 100*c.TrainShare, tests)
	return err
}

func tallyOf(tallies []linear.Tally, learner string) string {
	for _, t := range tallies {
		if t.Learner == learner && t.N > 0 {
			return fmt.Sprintf("%d/%d/%d", t.Win, t.Tie, t.Loss)
		}
	}
	return "-"
}
