package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// frozenConfig trains what comes after block2.
func frozenConfig(t *testing.T) run.Config {
	c := smallConfig(t, shades(t, 8, 4))
	c.Freeze = model.Freeze{To: "block2"}
	return c
}

func start(t *testing.T, c run.Config, opt Options) *Session {
	t.Helper()
	opt.Workers, opt.Events = 1, silent{}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func trainAll(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTrainingOnCachedOutputsIsTrainingOnTheImages(t *testing.T) {
	c := frozenConfig(t)
	plain := start(t, c, Options{Cache: run.CacheOptions{Off: true}})
	trainAll(t, plain)
	want := all(t, plain)
	for _, keep := range []string{"fp32", "fp16"} {
		c.Data.CacheFrozen = keep
		s := start(t, c, Options{Cache: run.CacheOptions{Dir: t.TempDir()}})
		if s.feeder.features == nil || s.stepper.net.images.Shape()[1] != 64 {
			t.Fatalf("%s: the network takes %v", keep, s.stepper.net.images.Shape())
		}
		trainAll(t, s)
		got := all(t, s)
		if keep == "fp16" {
			continue // rounding moves AdamW's first steps by up to their whole length
		}
		for name, w := range want {
			for i, v := range got[name] {
				if d := math.Abs(float64(v - w[i])); d > 1e-4 {
					t.Fatalf("%s: %s is %v, without the cache %v", keep, name, v, w[i])
				}
			}
		}
		if s.state.History[2].Loss == 0 || math.Abs(s.state.History[2].Loss-plain.state.History[2].Loss) > 1e-3 {
			t.Errorf("%s: loss %v, without the cache %v", keep, s.state.History[2].Loss, plain.state.History[2].Loss)
		}
	}
}

func TestWhatIsFrozenUpToABlockStays(t *testing.T) {
	c := frozenConfig(t)
	c.Data.CacheFrozen, c.Data.Augment, c.WarmupEpochs = "fp16", "flip", 0
	s := start(t, c, Options{Cache: run.CacheOptions{Dir: t.TempDir()}})
	before := all(t, s)
	trainAll(t, s)
	names := moved(s.model.Params, before, all(t, s))
	for _, p := range s.model.Params.All() {
		frozen := strings.HasPrefix(p.Name, "block1.") || strings.HasPrefix(p.Name, "block2.")
		if slices.Contains(names, p.Name) == frozen {
			t.Errorf("%s moved: %v", p.Name, frozen)
		}
	}
}

// A bit that flips in the file of outputs costs computing them anew, never an image
// its place, whatever number of unreadable ones is allowed.
func TestADamagedCacheOfOutputsChangesNoRun(t *testing.T) {
	c := frozenConfig(t)
	c.Data.CacheFrozen, c.Data.Augment, c.Data.MaxBad = "fp16", "flip", 50
	opt := Options{Cache: run.CacheOptions{Dir: t.TempDir()}}
	s := start(t, c, opt)
	trainAll(t, s)
	want := all(t, s)
	text, err := os.ReadFile(s.feeder.features.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{200, len(text) / 2, len(text) - 9} {
		text[at] ^= 8
	}
	if err := os.WriteFile(s.feeder.features.Path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	again := start(t, c, opt)
	if !again.feeder.features.Damaged {
		t.Error("the damage was not noticed")
	}
	trainAll(t, again)
	same(t, "after damage", want, all(t, again))
	if bad := again.feeder.trainer.Bad(); len(bad) > 0 {
		t.Errorf("images are blamed: %v", bad)
	}
}

func TestARunOnCachedOutputsGoesOnWhereItStopped(t *testing.T) {
	c := frozenConfig(t)
	c.Data.CacheFrozen, c.Data.Augment = "fp16", "flip"
	opt := Options{Cache: run.CacheOptions{Dir: t.TempDir()}, Workers: 1, Events: silent{}}
	straight := start(t, c, opt)
	trainAll(t, straight)
	stopped := start(t, c, opt)
	epoch(t, stopped)
	stopped.Close()
	s, err := Resume(t.Context(), stopped.folder, newTestEngine(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.feeder.features.Built != 0 {
		t.Errorf("the outputs of %d images were computed anew", s.feeder.features.Built)
	}
	trainAll(t, s)
	want, got := all(t, straight), all(t, s)
	for name := range want {
		if !slices.Equal(want[name], got[name]) {
			t.Errorf("%s differs from that of an uninterrupted run", name)
		}
	}
}

func TestARunOnCachedOutputsIsMeasuredThroughThem(t *testing.T) {
	c := frozenConfig(t)
	c.Data.CacheFrozen, c.Data.Augment = "fp32", "none"
	opt := Options{Cache: run.CacheOptions{Dir: t.TempDir()}, Workers: 1, Events: silent{}}
	s := start(t, c, opt)
	trainAll(t, s)
	cached, err := run.Embed(t.Context(), s.folder, newTestEngine(t), run.Selection{Options: opt.run()})
	if err != nil {
		t.Fatal(err)
	}
	defer cached.Close()
	if cached.Features == nil || cached.Features.Built != 0 {
		t.Error("the cached outputs were not used")
	}
	direct, err := run.Embed(t.Context(), s.folder, newTestEngine(t), run.Selection{Data: c.Data.Spec, Split: "test", Options: opt.run()})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	if direct.Features != nil {
		t.Error("images of another set went through the cache")
	}
	for i, v := range cached.Embeddings.X {
		if d := math.Abs(float64(v - direct.Embeddings.X[i])); d > 1e-4 {
			t.Fatalf("number %d is %v, from the images %v", i, v, direct.Embeddings.X[i])
		}
	}
	if _, err := s.Finish(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatCannotGoWithCachedOutputs(t *testing.T) {
	base := func() run.Config {
		c := run.Default("glyphs")
		c.Data.Augment, c.Data.CacheFrozen, c.Freeze.To = "flip", "fp16", "block1"
		return c
	}
	if err := base().Validate(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*run.Config){
		"there is: block1":  func(c *run.Config) { c.Freeze.To = "stem" },
		"no block is named": func(c *run.Config) { c.Freeze.To = "" },
		"there is: fp16":    func(c *run.Config) { c.Data.CacheFrozen = "int8" },
		"one of none, flip": func(c *run.Config) { c.Data.Augment = "photos" },
		"augmentation is one of none": func(c *run.Config) {
			c.Model.Backbone, c.Model.Pool, c.Freeze.To = "vits16", model.PoolCls, "blocks.3"
			c.Model.Input = c.Model.Input.WithSize(32)
		},
	} {
		c := base()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}
