package main

import (
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
)

// modelFlags choose a run's model and how it works through given images; embed,
// index and search share them.
type modelFlags struct {
	epoch            string
	threads, workers int
	maxBad           int
	crops            int
	device           cli.DeviceFlags
	ranks            cli.RankFlags
	opt              run.Options // but for Workers
}

func (f *modelFlags) add(fl *pflag.FlagSet) {
	f.addAlone(fl)
	f.ranks.Add(fl)
}

// addAlone is add for a command that one process runs.
func (f *modelFlags) addAlone(fl *pflag.FlagSet) {
	fl.StringVar(&f.epoch, "epoch", "best", epochHelp)
	fl.IntVar(&f.maxBad, "max-bad", 0, maxBadHelp)
	addCrops(fl, &f.crops)
	f.device.Add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

// epochHelp is that of --epoch.
const epochHelp = "which model of the run: best, last, or last-ema (the last epoch's averaged weights, of a run with --ema)"

// maxBadHelp is that of --max-bad where images are embedded.
const maxBadHelp = "leave out and list up to this number of unreadable images; one more ends the command (default the number that training allowed)"

// cropsHelp is that of --crops.
const cropsHelp = "squares of each picture that are embedded outside of training, and whose mean is the embedding: 1 (the middle), 5 (the corners too) or 10 (and all mirrored)"

// addCrops adds --crops to commands that embed with a model that is there.
func addCrops(fl *pflag.FlagSet, crops *int) {
	fl.IntVar(crops, "crops", 0, cropsHelp+" (default the model's)")
	fl.Lookup("crops").DefValue = ""
}

// images are the flags for images that are named one by one.
func (f *selectionFlags) images() modelFlags {
	return modelFlags{epoch: f.epoch, workers: f.sel.Workers, maxBad: f.sel.MaxBad, crops: f.sel.Crops, opt: f.sel.Options}
}
