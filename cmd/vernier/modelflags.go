package main

import (
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/train"
)

// modelFlags choose a run's model and how it works through given images; embed,
// index and search share them.
type modelFlags struct {
	epoch            string
	threads, workers int
	device           deviceFlags
	events           train.Events
}

func (f *modelFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.epoch, "epoch", "best", "which model of the run: best or last")
	f.device.add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

func (f *modelFlags) last() bool { return f.epoch == "last" }
