package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// The losses and variants of the presets of geometry flow, as they stand in
// their names. The first variant is the loss alone.
var (
	drmlFamilies = []string{"cub", "cars", "sop"}
	drmlLosses   = []string{"triplet", "semihard", "npair", "multi-similarity"}
	drmlVariants = []string{"plain", "sec", "drml", "drml-flat", "brm", "brm-drml"}
)

// drmlFlags are what the experiments with geometry flow have in common.
type drmlFlags struct {
	data, out, family, config, weights string
	set                                []string
	seeds                              []uint
	threads, workers, restarts         int
	cache                              cli.CacheFlags
	device                             cli.DeviceFlags
}

// drmlHelp explains them.
const drmlHelp = `Each run begins with a preset drml-LOSS-VARIANT-SET (--presets SET), over which
lie a configuration file, --data, --weights and --set, as in vernier train. The
presets are for BN-Inception with its public weights; for a first look a small
network will do: --set model.backbone=convnet --set model.input.size=28 and so on.

Runs that are done are not made again, and one that was interrupted continues: give
the same command. Tables are written anew after each run.

Figures headed Recall@K are of each image alone. What geometry flow makes of whole
batches stands in tables of its own.`

func (f *drmlFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.data, "data", "", "data set to train and test on, such as folder:PATH or cub200:PATH (vernier data list shows the kinds)")
	fl.StringVar(&f.out, "out", "", "folder of the runs and reports")
	fl.StringVar(&f.family, "presets", "cub", "data set whose presets are used: "+strings.Join(drmlFamilies, ", "))
	fl.StringVar(&f.config, "config", "", "YAML file of settings that lie over the presets")
	fl.StringVar(&f.weights, "weights", "", "weight file that the network starts from, or none")
	fl.StringArrayVar(&f.set, "set", nil, "one setting, as KEY=VALUE; may be repeated")
	fl.UintSliceVar(&f.seeds, "seeds", []uint{1, 2, 3}, "seeds of the runs")
	fl.IntVar(&f.restarts, "restarts", 20, "runs of k-means that NMI and F1 are averaged over")
	f.cache.Add(fl, "use pictures as they are, decoded from their files every time")
	f.device.Add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

func (f *drmlFlags) check() error {
	switch {
	case f.data == "":
		return cli.Usagef("--data is missing: say which images to train on, for example --data folder:PATH")
	case f.out == "":
		return cli.Usagef("--out is missing: say where the runs and reports go, for example --out runs/drml")
	case len(f.seeds) == 0:
		return cli.Usagef("--seeds: at least one")
	}
	return nil
}

// drmlRun is one run of an experiment.
type drmlRun struct {
	Name    string       `json:"name"` // of its folder
	Loss    string       `json:"loss"`
	Variant string       `json:"variant"`
	Seed    uint64       `json:"seed"`
	Trial   *train.Trial `json:"trial,omitempty"`
	Failed  string       `json:"failed,omitempty"`

	more   []run.Setting // over everything else
	factor float64       // of the learning rate, in the ablation study
	curve  bool          // measured after every epoch
}

// preset is the name of the one of a loss and a variant.
func (f *drmlFlags) preset(loss, variant string) string {
	return "drml-" + loss + "-" + variant + "-" + f.family
}

// settings of a run.
func (f *drmlFlags) settings(r *drmlRun) (*run.Settings, error) {
	s := &run.Settings{}
	if err := s.Add(run.Setting{Path: "preset", Value: f.preset(r.Loss, r.Variant)}); err != nil {
		return nil, err
	}
	if err := cli.AddConfig(s, f.config); err != nil {
		return nil, err
	}
	flags := []run.Setting{{Path: "data.spec", Value: f.data, Source: "--data"}}
	if f.weights != "" {
		flags = append(flags, run.Setting{Path: "weights.path", Value: f.weights, Source: "--weights"})
	}
	if f.cache.Off {
		flags = append(flags, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	if err := s.Add(flags...); err != nil {
		return nil, err
	}
	if err := cli.AddSet(s, f.set); err != nil {
		return nil, err
	}
	last := append(slices.Clone(r.more), run.Setting{Path: "seed", Value: r.Seed})
	if r.curve {
		last = append(last, run.Setting{Path: "run.eval_every", Value: 1})
	}
	return s, s.Add(last...)
}

// run makes the runs, and calls report after each. Runs that diverge are kept as
// failures.
func (f *drmlFlags) run(ctx context.Context, log *logrus.Logger, runs []*drmlRun, report func() error) error {
	for _, r := range runs { // mistakes show before the first hour has passed
		s, err := f.settings(r)
		if err == nil {
			_, err = s.Config()
		}
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("run %s: %w", r.Name, err)}
		}
	}
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	opt := train.Options{Workers: f.workers, Events: quietly{cli.NewReporter(log, flagOf)}, Cache: f.cache.Options()}
	for i, r := range runs {
		log.Infof("run %d of %d: %s", i+1, len(runs), r.Name)
		s, err := f.settings(r)
		if err != nil {
			return err
		}
		r.Trial, err = train.RunTrial(ctx, run.Folder(filepath.Join(f.out, "runs", r.Name)), s, eng, f.restarts, opt)
		diverged := new(train.DivergedError)
		switch {
		case ctx.Err() != nil:
			return &cli.InterruptedError{Hint: "stopped; the same command continues", Err: ctx.Err()}
		case errors.As(err, &diverged):
			r.Failed = diverged.Error()
			log.Warnf("run %s: %s", r.Name, r.Failed)
		case err != nil:
			return fmt.Errorf("run %s: %w", r.Name, err)
		}
		if err := report(); err != nil {
			return err
		}
	}
	return nil
}

// quietly leaves out what a run says about each epoch.
type quietly struct{ *cli.Reporter }

func (quietly) Say(string, ...any) {}

// published reports whether a preset's figures are of the data set that is used.
func (f *drmlFlags) published(p *run.Preset) bool {
	kind, _, _ := strings.Cut(f.data, ":")
	return kind == p.Data
}
