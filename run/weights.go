package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights/public"
)

// WeightsConfig says what a network starts from. Without a path its weights are
// drawn.
type WeightsConfig struct {
	// Path of a weight file: see model.LoadWeights. Settings may have the name of one of
	// public.Files instead, which becomes the path of that file in the cache.
	Path string `json:"path,omitempty"`
	// Dictionary chooses one of several networks in the file.
	Dictionary string `json:"dictionary,omitempty"`
	// SHA256 of the file in hexadecimal. It is filled in when a run starts.
	SHA256 string `json:"sha256,omitempty"`
}

// InitialModel returns the network of a configuration as it is before the first step,
// and what was read for it from a weight file, or nil.
func (c Config) InitialModel(eng engine.Engine) (*model.Model, *model.Loaded, error) {
	m, err := model.New(eng, c.Model, c.Seed)
	if err != nil || c.Weights.Path == "" {
		return m, nil, err
	}
	if c.Weights.SHA256 != "" {
		sum, err := wholefile.Digest(c.Weights.Path)
		if err != nil {
			return nil, nil, err
		}
		if sum != c.Weights.SHA256 {
			return nil, nil, fmt.Errorf("%s is no longer the file that the run started from", c.Weights.Path)
		}
	}
	l, err := m.LoadWeights(c.Weights.Path, c.Weights.Dictionary)
	return m, l, err
}

// weightsFile returns the absolute path of what settings call the file of weights: a
// path, or the name of a public file where nothing has that path.
func weightsFile(given string) (string, error) {
	_, err := os.Stat(given)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(given, `./\`) {
		f, err := public.Find(given)
		if err != nil {
			return "", setting.Errorf("%s: there is no file %s, and %w", setting.Name("weights.path"), given, err)
		}
		return f.Path()
	}
	return filepath.Abs(given)
}

// FetchWeights fetches the file that the network starts from into the cache, where it is
// a public one and not there yet.
func (c Config) FetchWeights(ctx context.Context, ev Events) error {
	f, ok := public.At(c.Weights.Path)
	if !ok {
		return nil
	}
	if _, err := os.Stat(c.Weights.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ev = OrSilent(ev)
	ev.Say("fetching %s: %s; licence: %s", f.Name, f.Summary, f.License)
	_, err := public.Get(ctx, f, public.Options{Progress: FetchProgress(ev)})
	return err
}

// FetchProgress reports how far the transfer of a file has come, in KiB, where its size is
// known.
func FetchProgress(ev Events) func(file string, done, total int64) {
	return func(file string, done, total int64) {
		if total > 0 {
			ev.Progress("fetching "+file, int(done>>10), int(max(total>>10, 1)), "")
		}
	}
}
