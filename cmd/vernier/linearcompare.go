package main

import (
	"encoding/json"
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

// compareFlags are shared by compare and reproduce.
type compareFlags struct {
	learners   []string
	references []string
	trials     int
	markdown   string
	json       string
	plot       string
	level      float64
	flags      *pflag.FlagSet
}

func (f *compareFlags) add(cmd *cobra.Command, learners, references []string) {
	fl := cmd.Flags()
	f.flags = fl
	fl.StringSliceVar(&f.learners, "learners", learners, "learners to compare, separated by commas; vernier linear list shows them")
	fl.StringSliceVar(&f.references, "reference", references, "methods whose wins, ties and losses against the others are counted (by default those that --learners names too)")
	fl.IntVar(&f.trials, "trials", 20, "number of random splits")
	fl.Float64Var(&f.level, "level", .05, "significance level of the paired t-tests")
	fl.StringVar(&f.markdown, "markdown", "", "also write the table as Markdown to this file")
	fl.StringVar(&f.json, "json", "", "also write every figure as JSON to this file; - for standard output instead of the table")
	fl.StringVar(&f.plot, "plot", "", "also draw bars with error bars as PNG to this file")
}

func (f *compareFlags) complete() ([]linear.Candidate, error) {
	if len(f.learners) == 0 {
		return nil, usagef("--learners is empty: vernier linear list shows what there is")
	}
	c, err := linear.Candidates(f.learners)
	if err != nil {
		return nil, usagef("--learners: %w", err)
	}
	for i, l := range f.learners {
		if slices.Contains(f.learners[:i], l) {
			return nil, usagef("--learners: %s is there twice", l)
		}
	}
	if !f.flags.Changed("reference") {
		f.references = slices.DeleteFunc(slices.Clone(f.references), func(r string) bool { return !slices.Contains(f.learners, r) })
	}
	for _, r := range f.references {
		if !slices.Contains(f.learners, r) {
			return nil, usagef("--reference %q: --learners are %s", r, strings.Join(f.learners, ", "))
		}
	}
	return c, nil
}

func newLinearCompare(log *logrus.Logger) *cobra.Command {
	t, f := &tableFlags{}, &compareFlags{}
	var opt linear.Trials
	var noise string
	cmd := &cobra.Command{
		Use:   "compare TABLE...",
		Short: "Compare learners on tables over random splits",
		Long: `Split each table at random several times, learn a metric with every method from
the training part, and print the k-NN error on the test part: mean and standard
deviation over the splits, which are the same for all methods. Encoding and
standardisation come from the training part alone. Wins, ties and losses are by
paired t-tests over the splits.`,
		Example: `  vernier linear compare vehicle.csv vowel.csv
  vernier linear compare german.csv --learners euclidean,lmnn,itml,brm-r --trials 10 --markdown german.md --plot german.png`,
		Args: takes(true, "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.complete()
			candidates, err := f.complete()
			if err != nil {
				return err
			}
			opt.Trials, opt.Seed, opt.Encode, opt.Components = f.trials, t.seed, t.encode, t.components
			opt.Noise.Kind = linear.NoiseKind(noise)
			return withEngine(t.threads, func(eng linear.Engine) error {
				opt.Engine = eng
				var tables []*linear.Table
				for _, path := range args { // mistakes show before the first is compared
					table, err := t.table(log, path, true)
					if err != nil {
						return err
					}
					tables = append(tables, table)
				}
				var done []*linear.Comparison
				for _, table := range tables {
					c, err := runComparison(cmd, log, table, candidates, opt)
					if err != nil {
						return err
					}
					done = append(done, c)
				}
				return f.report(cmd.OutOrStdout(), "k-NN error after each method", done)
			})
		},
	}
	t.add(cmd)
	f.add(cmd, []string{"euclidean", "lda", "gmml", "itml", "lmnn", "brm-c", "brm-r"}, []string{"brm-r"})
	fl := cmd.Flags()
	fl.Float64Var(&opt.Train, "train-share", .8, "share of the rows that train")
	fl.IntVar(&opt.K, "k", 5, "number of nearest neighbors that vote")
	fl.StringVar(&noise, "noise", "", "corrupt test rows: gaussian or impulse")
	fl.Float64Var(&opt.Noise.Level, "noise-level", .1, "variance of gaussian noise, or share of features that impulses replace")
	fl.BoolVar(&opt.Noise.OnTrain, "noise-on-train", false, "corrupt training rows too")
	return cmd
}

// runComparison compares on one table and says what a reader should know of it.
func runComparison(cmd *cobra.Command, log *logrus.Logger, t *linear.Table, candidates []linear.Candidate, opt linear.Trials) (*linear.Comparison, error) {
	say := newReporter(log)
	last := len(candidates) - 1
	opt.Progress = func(trial int, learner string, _ float64) {
		if learner == candidates[last].Name {
			say.Say("%s: trial %d of %d done", t.Name, trial+1, opt.Trials)
		}
	}
	c, err := linear.Compare(cmd.Context(), t, candidates, opt)
	if err != nil {
		return nil, err
	}
	warnConstant(log, c.Constant)
	if c.Duplicates > 0 {
		log.Warnf("%s: on average %.1f test rows equal a training row, %.1f of them with another label", t.Name, c.Duplicates, c.Conflicting)
	}
	if c.Unlabelled > 0 {
		log.Warnf("%s: %s without a label took no part", t.Name, plural.Of(c.Unlabelled, "row"))
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
		return nil, fmt.Errorf("%s: no learner learnt anything: %s", t.Name, c.Results[0].Failed)
	}
	return c, nil
}

// report prints comparisons and writes what the flags ask for.
func (f *compareFlags) report(w io.Writer, title string, done []*linear.Comparison) error {
	asJSON := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(done)
	}
	if f.markdown != "" {
		if err := wholefile.Write(f.markdown, func(w io.Writer) error { return linear.WriteMarkdown(w, done, f.references, f.level) }); err != nil {
			return err
		}
	}
	if f.plot != "" {
		if err := linear.PlotErrors(f.plot, title, done); err != nil {
			return err
		}
	}
	switch f.json {
	case "-":
		return asJSON(w)
	case "":
	default:
		if err := wholefile.Write(f.json, asJSON); err != nil {
			return err
		}
	}
	return f.print(w, done)
}

// print writes a table a person can read: a line a method, a column a table.
func (f *compareFlags) print(w io.Writer, done []*linear.Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, c := range done {
		fmt.Fprintf(t, "%s\t", c.Table)
	}
	for _, r := range f.references {
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
		for _, ref := range f.references {
			fmt.Fprintf(t, "%s\t", tallyOf(linear.Tallies(done, ref, f.level), r.Learner))
		}
		fmt.Fprintf(t, "%.2f\t\n", seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	c := done[0]
	tests := ""
	if len(f.references) > 0 {
		tests = fmt.Sprintf("; win/tie/loss over tables by paired t-tests at %v", f.level)
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
