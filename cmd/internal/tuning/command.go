package tuning

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
	"github.com/vernier-ml/vernier/train/sweep"
	"github.com/vernier-ml/vernier/train/tune"
)

// flags are those of tune.
type flags struct {
	out, data     string
	set           []string
	trials        int
	hours         float64
	seeds         int
	jobs, threads int
	device        cli.DeviceFlags
	cache         cli.CacheFlags
}

// New returns the command. events makes what the runs report to.
func New(log *logrus.Logger, events func(*logrus.Logger) *cli.Reporter) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "tune FILE --out DIR",
		Short: "Look for good settings, and compare variants that had equal budgets for it",
		Long: `Try settings that a YAML file describes, on folds of the training classes, and say
which are best. With compare in the file each variant gets the same number of trials
and hours. At the end the best settings of each are trained on all training classes
with several seeds and measured on the test classes, which nothing looks at before:
table.md, table.json, report.html and best-VARIANT.yaml (for train --config) in DIR.

The file has base and space, and of the others what differs from what is written here:

  base:                       # settings of every run, as in a file for train --config
    data: {spec: glyphs}
  space:                      # what varies
    optimizer.rate: {log: [1e-4, 1e-2]}     # uniform in the logarithm
    model.dropout: {uniform: [0, 0.5]}
    epochs: {int: [4, 12]}
    model.dim: [64, 128]                    # choices; a group sets several settings
    model.scale: {log: [0.1, 3], when: {model.metric: brm}}
  compare:                    # every combination, or a list of groups; default one study
    loss.name: [npairs, proxy-anchor]
    model.metric: [euclidean, brm]
  trials: 20                  # of each variant
  hours: 0                    # of each variant at most, of one trial at a time; 0 for no limit
  folds: 4                    # of the training classes
  seed: 1                     # of proposals; runs have that of base
  sampler: tpe                # or random
  startup: 8                  # first trials, drawn at random
  stopping: none              # of bad trials: asha or median
  parallel: 1                 # trials of a variant that are proposed together
  figure: validation_map@r    # or validation_recall@1
  epoch: last                 # of a run: last, or best
  seeds: 0                    # of the best settings, on the test classes
  baseline: {model.metric: euclidean}       # default the first variant
  restarts: 20                # of k-means

An interrupted study continues when the same command is given again, to the same trials.
Several processes may work on one. A study that has begun may get more trials, hours,
seeds and variants.`,
		Example: `  vernier tune docs/experiments/tune-glyphs.yaml --out runs/tune-glyphs
  vernier tune birds.yaml --data folder:birds.zip --trials 40 --jobs 2 --threads 1 --out runs/birds
  vernier train --config runs/birds/best-study.yaml --out runs/birds-best`,
		Args: cli.Takes(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], log, events(log)) },
	}
	cli.SharesWork(cmd)
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "folder of the studies")
	fl.StringVar(&f.data, "data", "", "data set of all runs, in place of the file's")
	fl.StringArrayVar(&f.set, "set", nil, "one setting of all runs, as KEY=VALUE, in place of the file's base; may be repeated")
	fl.IntVar(&f.trials, "trials", 0, "trials of each variant, in place of the file's")
	fl.Float64Var(&f.hours, "hours", 0, "hours of trials of each variant at most, in place of the file's")
	fl.IntVar(&f.seeds, "seeds", 0, "seeds of the best settings on the test classes, in place of the file's; 0 for none")
	fl.IntVar(&f.jobs, "jobs", 1, "runs at a time")
	fl.IntVar(&f.threads, "threads", 0, "threads of each run (default all cores divided by --jobs); changes no result")
	f.device.Add(fl)
	f.cache.Add(fl, "store no prepared pictures; changes no result")
	return cmd
}

// Limits are what the command's flags take.
func Limits() map[string]cli.Limit {
	return map[string]cli.Limit{
		"--trials": cli.Whole(1, tune.MaxTrials), "--seeds": cli.Whole(0, tune.MaxSeeds),
		"--hours": cli.Number("a number of hours above 0, or 0 for no limit", func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }),
	}
}

func (f *flags) run(cmd *cobra.Command, path string, log *logrus.Logger, events *cli.Reporter) error {
	file, err := f.file(cmd, path)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	open := f.device.Opener(log)
	engine := func(threads int) (sweep.Engine, error) { return open(threads) }
	opt := train.Options{Cache: f.cache.Options(), Events: events, Restarts: file.Restarts}
	r := &tune.Runner{Dir: f.out, Jobs: f.jobs, Threads: f.threads, Engine: engine, Options: opt}
	studies, err := r.Run(cmd.Context(), file)
	if cmd.Context().Err() != nil {
		return &cli.InterruptedError{Hint: "stopped and saved; the same command continues", Err: err}
	}
	if err != nil {
		return err
	}
	jobs, err := file.FinalJobs(studies)
	if err != nil {
		if errors.Is(err, tune.ErrNoBest) {
			err = fmt.Errorf("%w: %s says why trials failed; with hours, one trial may take longer than all", err, run.Folder(f.out).Path(tune.ReportFile))
		}
		return errors.Join(err, f.write(cmd, file, studies))
	}
	if len(jobs) > 0 {
		log.Infof("the best settings of %s, %s each, on the test classes", plural.Of(len(studies), "variant"), plural.Of(file.Seeds, "seed"))
		final := &sweep.Runner{Dir: run.Folder(f.out).Path(tune.FinalFolder), Jobs: f.jobs, Threads: f.threads, Engine: engine, Options: opt}
		err := final.Run(cmd.Context(), jobs)
		if cmd.Context().Err() != nil {
			return &cli.InterruptedError{Hint: "stopped and saved; the same command continues", Err: err}
		}
		if err != nil {
			return errors.Join(err, f.write(cmd, file, studies))
		}
	}
	return f.write(cmd, file, studies)
}

// write writes all files and prints the table.
func (f *flags) write(cmd *cobra.Command, file *tune.File, studies []*tune.Study) error {
	t, err := file.Compare(f.out, studies)
	if err != nil {
		return err
	}
	if err := file.Write(f.out, studies, t); err != nil {
		return err
	}
	if err := file.Report(f.out, studies, t); err != nil {
		return err
	}
	return t.WriteMarkdown(cmd.OutOrStdout())
}

// file reads the file and lays the flags over it.
func (f *flags) file(cmd *cobra.Command, path string) (*tune.File, error) {
	if f.out == "" {
		return nil, errors.New("--out is missing: say where the studies' folders go, for example --out runs/tuned")
	}
	if f.threads == 0 {
		f.threads = max(1, runtime.GOMAXPROCS(0)/f.jobs)
	}
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, err
	}
	file, err := tune.Parse(path, text)
	if err != nil {
		return nil, err
	}
	fl := cmd.Flags()
	if fl.Changed("trials") {
		file.Trials = f.trials
	}
	if fl.Changed("hours") {
		file.Hours = f.hours
	}
	if fl.Changed("seeds") {
		file.Seeds = f.seeds
	}
	var over []run.Setting
	if f.data != "" {
		over = append(over, run.Setting{Path: "data.spec", Value: f.data, Source: "--data"})
	}
	set, err := cli.ParseSet(f.set, "epochs=4")
	if err != nil {
		return nil, err
	}
	over = append(over, set...)
	if f.cache.Off {
		over = append(over, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	file.Override(over)
	return file, file.Check(cmd.Context())
}
