package cli

import (
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/run"
)

// CacheFlags are --cache and --no-cache: where decoded images are kept.
type CacheFlags struct {
	dir string
	// Off is --no-cache.
	Off bool
}

// Add adds the flags to fl; off is the help of --no-cache, which is not the same in every
// command.
func (f *CacheFlags) Add(fl *pflag.FlagSet, off string) {
	fl.StringVar(&f.dir, "cache", "", "folder of prepared pictures (default vernier in the user's cache folder); changes no result")
	fl.BoolVar(&f.Off, "no-cache", false, off)
}

// Options are the cache that the flags describe.
func (f *CacheFlags) Options() run.CacheOptions {
	return run.CacheOptions{Dir: f.dir, Off: f.Off, Hint: " (--cache DIR stores them elsewhere, --no-cache not at all)"}
}
