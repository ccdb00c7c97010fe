package run

import (
	"context"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
)

// CacheOptions say where pictures are kept decoded between runs. They change no
// result: DataConfig.Shorter says which pictures a run sees.
type CacheOptions struct {
	Dir  string // of the prepared files; "" for vernier in the user's cache folder
	Off  bool   // resize every time instead
	Hint string // what to do about a full disk, for the user
}

// Shorter is the usual DataConfig.Shorter of a network: what prepared files hold
// unless the network wants more.
func Shorter(p backbone.Preprocessing) int { return max(data.DefaultShorter, p.Size, p.Resize) }

// openSet opens a set and keeps its pictures at hand as the configuration has
// it. The fingerprint is of the set as it lies on the disk.
func openSet(ctx context.Context, spec string, cfg DataConfig, opt Options) (_ *data.Set, fingerprint string, err error) {
	o := data.Options{Decode: pixels.Options{MaxPixels: cfg.MaxPixels}}
	if opt.Events != nil {
		o.Progress = func(what string, done, total int) { opt.Events.Progress(what, done, total, "") }
	}
	set, err := data.Open(ctx, spec, o)
	if err != nil {
		return nil, "", err
	}
	fingerprint = set.Fingerprint()
	if cfg.Shorter == 0 || set.Width() > 0 {
		return set, fingerprint, nil
	}
	var small *data.Set
	if opt.Cache.Off || cfg.CacheFrozen != "" { // which needs each picture once
		small, err = data.Shrunk(set, cfg.Shorter)
	} else {
		small, err = data.Prepare(ctx, set, data.PrepareOptions{
			Dir: opt.Cache.Dir, Shorter: cfg.Shorter, Workers: opt.Workers,
			Progress: func(done, total int) { OrSilent(opt.Events).Progress("preparing images", done, total, "") },
			Unstored: func(err error) {
				OrSilent(opt.Events).Warn("pictures are decoded anew every time, which is slow: %v%s", err, opt.Cache.Hint)
			},
		})
	}
	if err != nil {
		set.Close()
		return nil, "", err
	}
	return small, fingerprint, nil
}
