package main

import (
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/run"
)

// cacheFlags say where decoded pictures are kept; train, eval and export share
// them.
type cacheFlags struct {
	dir string
	off bool
}

func (f *cacheFlags) add(fl *pflag.FlagSet, off string) {
	fl.StringVar(&f.dir, "cache", "", "folder of prepared pictures (default vernier in the user's cache folder); changes no result")
	fl.BoolVar(&f.off, "no-cache", false, off)
}

func (f *cacheFlags) options() run.CacheOptions {
	return run.CacheOptions{Dir: f.dir, Off: f.off, Hint: " (--cache DIR stores them elsewhere, --no-cache not at all)"}
}
