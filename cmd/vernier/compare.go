package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/sweep"
)

// tableOutput says what is compared and where the table goes; compare and sweep
// share it.
type tableOutput struct {
	baseline []string
	figure   string
	format   string
	plot     string
	level    float64
}

// tableFormats are the values of --format.
var tableFormats = []string{"markdown", "csv", "json"}

func (f *tableOutput) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.baseline, "baseline", nil, "setting that makes a group's baseline of it, as in model.metric=euclidean; may be repeated (default the first group for all; none for no tests)")
	fl.StringVar(&f.figure, "figure", "", "figure that is tested in the table and drawn: recall@K, map@r, nmi, f1, validation_map@r (default recall@1)")
	fl.Float64Var(&f.level, "level", .05, "significance level of the paired t-tests")
	fl.StringVar(&f.format, "format", tableFormats[0], "format of the table: "+strings.Join(tableFormats, ", "))
}

// options are what Compare takes, with the baseline of a file if no flag gives one.
func (f *tableOutput) options(baseline map[string]string) (sweep.Options, error) {
	o := sweep.Options{Level: f.level, Baseline: baseline}
	switch {
	case len(f.baseline) == 1 && f.baseline[0] == "none":
		o.Baseline = map[string]string{}
	case len(f.baseline) > 0:
		given, err := keyValues("--baseline", f.baseline)
		if err != nil {
			return o, &cli.UsageError{Err: err}
		}
		o.Baseline = given
	}
	return o, nil
}

// write prints the table.
func (f *tableOutput) write(w io.Writer, t *sweep.Table, log *logrus.Logger) error {
	switch f.format {
	case "csv":
		if remark := t.Remark(); remark != "" {
			log.Warn(remark) // CSV has no place for it
		}
		return t.WriteCSV(w)
	case "json":
		return t.WriteJSON(w)
	}
	return t.WriteMarkdown(w, f.figure)
}

func newCompare(log *logrus.Logger) *cobra.Command {
	f := &tableOutput{}
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Compare finished runs: means, deviations and paired t-tests",
		Long: `Put runs that differ in their seed (or fold) alone into groups, and print mean and
standard deviation of every figure of each group's runs on the test classes. A column
shows a setting in which groups differ; a line below the table names those without a
column, whose values follow from the columns. What a run writes beside its model
(run.keep, run.save_every, run.eval_every, run.tensorboard) makes no other group.

Each group is compared with its baseline by a two-sided paired t-test over the seeds and
folds that both have, if they are three at least. With --baseline model.metric=euclidean the baseline of a group is
the one that has this metric and is otherwise the same. Runs that were measured on
different test images are neither tested against each other nor ranked.

RUN is a run folder, or a folder that holds some, as vernier sweep makes them.`,
		Example: `  vernier compare runs/cosine-1 runs/cosine-2 runs/brm-1 runs/brm-2
  vernier compare runs/omniglot --baseline model.metric=euclidean --plot omniglot.png
  vernier compare runs/omniglot --format csv > omniglot.csv`,
		Args: cli.Takes(true, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, log) },
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&f.plot, "plot", "", "also draw the figure of every run as PNG to this file")
	return cmd
}

func (f *tableOutput) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	o, err := f.options(nil)
	if err != nil {
		return err
	}
	given := f.figure != ""
	if !given {
		f.figure = "recall@1"
	}
	t, err := compareRuns(args, o)
	if err == nil && given {
		err = t.Known(f.figure)
	}
	if wrong := new(sweep.OptionError); errors.As(err, &wrong) {
		return cli.Usagef("--%s: %w", wrong.Option, err)
	}
	if err != nil {
		return err
	}
	if err := f.write(cmd.OutOrStdout(), t, log); err != nil {
		return err
	}
	if f.plot == "" {
		return nil
	}
	return t.Plot(f.plot, f.figure)
}

// compareRuns compares the finished runs in folders.
func compareRuns(folders []string, o sweep.Options) (*sweep.Table, error) {
	runs, unfinished, err := sweep.Load(folders)
	if err != nil {
		return nil, err
	}
	missing, err := sweep.Unfinished(unfinished)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 && len(missing) > 0 {
		return nil, fmt.Errorf("of %s none is finished; %s: %s", plural.Of(len(missing), "run"), missing[0].Folder, missing[0].State)
	}
	t, err := sweep.Compare(runs, o)
	if err != nil {
		return nil, err
	}
	t.Missing = missing
	return t, nil
}

// writeTables writes a table in every format, and the figure, into a folder.
func writeTables(dir run.Folder, t *sweep.Table, figure string) error {
	for name, write := range map[string]func(io.Writer) error{
		"table.md":   func(w io.Writer) error { return t.WriteMarkdown(w, figure) },
		"table.csv":  t.WriteCSV,
		"table.json": t.WriteJSON,
	} {
		if err := wholefile.Write(dir.Path(name), write); err != nil {
			return err
		}
	}
	return t.Plot(dir.Path("figure.png"), figure)
}
