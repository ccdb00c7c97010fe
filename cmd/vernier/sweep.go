package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
	"github.com/vernier-ml/vernier/train/sweep"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	out     string
	data    string
	set     []string
	jobs    int
	threads int
	device  cli.DeviceFlags
	cache   cli.CacheFlags
	table   tableOutput
	list    bool
}

func newSweep(log *logrus.Logger) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE --out DIR",
		Short: "Make many runs from one file, and compare them",
		Long: `Make all runs that a YAML file describes, in folders of DIR, and compare them as
vernier compare does: table.md, table.csv, table.json and figure.png in DIR.

The file has, every part of it optional:

  base:                       # settings of every run, as in a file for train --config
    data: {spec: glyphs}
  grid:                       # every combination of these
    model.metric: [cosine, euclidean, brm]
    loss:                     # an axis may change several settings at once
      - {loss.name: npairs}
      - {loss.name: proxy-anchor, optimizer.proxy_rate: 100}
  random:                     # and of each of 20 draws
    trials: 20
    seed: 1
    values: {optimizer.rate: {log: [1e-5, 1e-2]}, model.scale: {uniform: [0.5, 2]}, model.dim: [64, 128]}
  seeds: 5                    # 1 to 5; or a list
  folds: 4                    # of the training classes, each once for validation
  baseline: {model.metric: euclidean}
  figure: recall@1            # tested and drawn; validation_map@r if anything is random
  restarts: 20                # of k-means

An interrupted sweep continues when the same command is given again: finished runs are
skipped, unfinished ones resumed. Several processes may work on one sweep.`,
		Example: `  vernier sweep docs/experiments/glyphs.yaml --out runs/glyphs --list
  vernier sweep docs/experiments/glyphs.yaml --out runs/glyphs --jobs 2 --threads 1
  vernier sweep birds.yaml --data folder:birds.zip --set epochs=4 --out runs/birds`,
		Args: cli.Takes(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, log) },
	}
	cli.SharesWork(cmd)
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "folder of the runs")
	fl.StringVar(&f.data, "data", "", "data set of all runs, in place of the file's")
	fl.StringArrayVar(&f.set, "set", nil, "one setting of all runs, as KEY=VALUE, in place of the file's base; may be repeated")
	fl.IntVar(&f.jobs, "jobs", 1, "runs at a time")
	fl.IntVar(&f.threads, "threads", 0, "threads of each run (default all cores divided by --jobs); changes no result")
	f.device.Add(fl)
	f.cache.Add(fl, "store no prepared pictures; changes no result")
	f.table.add(fl)
	fl.BoolVar(&f.list, "list", false, "list the runs and how far each has come, and make none")
	return cmd
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	file, jobs, err := f.plan(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	o, err := f.table.options(file.Baseline)
	if err != nil {
		return err
	}
	o.Order, o.With = file.Order(jobs), file.With()
	if f.table.figure == "" {
		f.table.figure = file.Figure
	}
	if file.Drawn() {
		o.By = f.table.figure
		if o.Baseline == nil {
			o.Baseline = map[string]string{}
		}
	}
	if err := sweep.Check(jobs, o, f.table.figure); err != nil { // not after hours of training
		return &cli.UsageError{Err: err}
	}
	open := f.device.Opener(log)
	r := &sweep.Runner{
		Dir: f.out, Jobs: f.jobs, Threads: f.threads,
		Engine:  func(threads int) (sweep.Engine, error) { return open(threads) },
		Options: train.Options{Cache: f.cache.Options(), Events: newReporter(log), Restarts: file.Restarts},
	}
	if f.list {
		for _, j := range jobs {
			state, err := sweep.State(run.Folder(f.out).Path(j.Name))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", j.Name, state)
		}
		return nil
	}
	if err := sweep.CheckData(cmd.Context(), jobs); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("%s: %w", args[0], err)}
	}
	if err := r.Open(); err != nil {
		return cli.Usagef("--out: %w", err)
	}
	failed := r.Run(cmd.Context(), jobs)
	if cmd.Context().Err() != nil {
		return &cli.InterruptedError{Hint: "stopped and saved; the same command continues", Err: failed}
	}
	folders := r.Folders(jobs)
	runs, _, err := sweep.Load(folders)
	if err != nil {
		return err
	}
	if seconds, known, err := sweep.Cost(runs); err != nil {
		return err
	} else if known > 0 {
		log.Infof("%s in %s: %.0f s in all, %.1f s a run", plural.Of(known, "run"), f.out, seconds, seconds/float64(known))
	}
	t, err := compareRuns(folders, o)
	if err == nil {
		if left := len(jobs) - len(runs); left > 0 && failed == nil {
			log.Warnf("%d of %s left to another process, which will write the table of all", left, plural.Of(len(jobs), "run"))
		}
		err = writeTables(run.Folder(f.out), t, f.table.figure)
	}
	if err == nil {
		err = f.table.write(cmd.OutOrStdout(), t, log)
	}
	if failed != nil { // the reasons were shown when they appeared
		hint := "the same command tries again"
		if errors.As(failed, new(*train.DivergedError)) {
			hint += ", but what diverged will do so again"
		}
		return fmt.Errorf("%d of %s not finished; %s", len(jobs)-len(runs), plural.Of(len(jobs), "run"), hint)
	}
	return err
}

// plan reads the file and lays the flags over it.
func (f *sweepFlags) plan(ctx context.Context, path string) (*sweep.File, []sweep.Job, error) {
	if f.out == "" {
		return nil, nil, cli.Usagef("--out is missing: say where the runs' folders go, for example --out runs/mine")
	}
	if f.threads == 0 {
		f.threads = max(1, runtime.GOMAXPROCS(0)/f.jobs)
	}
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	file, err := sweep.Parse(path, text)
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	var over []run.Setting
	if f.data != "" {
		over = append(over, run.Setting{Path: "data.spec", Value: f.data, Source: "--data"})
	}
	set, err := cli.ParseSet(f.set, "epochs=4")
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	over = append(over, set...)
	if f.cache.Off {
		over = append(over, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	jobs, err := file.Plan(ctx, over)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	return file, jobs, nil
}
