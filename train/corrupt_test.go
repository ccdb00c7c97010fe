package train

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
)

func TestEachPartOfTheImagesIsDamagedAsItsOwnSettingSays(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 6))
	opt := Options{Cache: run.CacheOptions{Off: true}, Workers: 1, Events: silent{}}
	load := func(c run.Config) run.Sets {
		s, err := run.OpenSets(t.Context(), c, opt.run())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.All.Close() })
		return s
	}
	changed := func(a, b *data.Set) int {
		n := 0
		for i := range a.Items {
			x, err := a.Load(t.Context(), i)
			y, err2 := b.Load(t.Context(), i)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if !slices.Equal(x.Compact().Pix, y.Compact().Pix) {
				n++
			}
		}
		return n
	}
	clean := load(c)
	if c.Data.Validation = .5; load(c).Validation == nil {
		t.Fatal("no validation classes")
	}
	for name, v := range map[string]struct {
		corrupt                    run.CorruptConfig
		training, validation, test int // images that are changed
	}{
		"training": {run.CorruptConfig{Train: data.Corruption{Impulse: .5}}, 12, 12, 0},
		"test":     {run.CorruptConfig{Test: data.Corruption{Impulse: .5}}, 0, 0, 24},
		"both":     {run.CorruptConfig{Train: data.Corruption{Impulse: .5}, Test: data.Corruption{Impulse: .5}}, 12, 12, 24},
	} {
		whole, dirty := load(c), c
		dirty.Data.Corrupt = v.corrupt
		s := load(dirty)
		if n := changed(whole.Train, s.Train); n != v.training {
			t.Errorf("%s: %d training images are changed, want %d", name, n, v.training)
		}
		if n := changed(whole.Validation, s.Validation); n != v.validation {
			t.Errorf("%s: %d validation images are changed, want %d", name, n, v.validation)
		}
		if n := changed(whole.Test, s.Test); n != v.test {
			t.Errorf("%s: %d test images are changed, want %d", name, n, v.test)
		}
		if !strings.Contains(s.Test.Name, "impulse=0.5") {
			t.Errorf("%s: the set is called %q", name, s.Test.Name)
		}
	}
	c.Data.Validation = 0
	c.Data.Corrupt.Train.Labels = .25
	s := load(c)
	wrong := 0
	for i, label := range s.Train.Labels() {
		if label != clean.Train.Labels()[i] {
			wrong++
		}
	}
	if wrong != 6 || !slices.Equal(s.Test.Labels(), clean.Test.Labels()) {
		t.Errorf("%d of 24 labels are wrong, want 6, and none of the test images", wrong)
	}
}

func TestCorruptionGoesThroughTheStoredConfiguration(t *testing.T) {
	c := run.Default("glyphs")
	c.Data.Corrupt = run.CorruptConfig{Train: data.Corruption{Impulse: .1, Labels: .2}, Seed: 7}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &run.Settings{}
	if err := s.AddYAML("config.json", text); err != nil {
		t.Fatal(err)
	}
	back, err := s.Config()
	if err != nil || back.Data.Corrupt != c.Data.Corrupt {
		t.Errorf("%+v comes back as %+v, %v", c.Data.Corrupt, back.Data.Corrupt, err)
	}
	if text, err = json.Marshal(run.Default("glyphs")); err != nil || strings.Contains(string(text), "corrupt") {
		t.Errorf("a clean configuration speaks of corruption: %s", text)
	}
}

func TestADamagedSetIsTrainedOnThroughTheCacheToo(t *testing.T) {
	c := frozenConfig(t)
	c.Data.CacheFrozen = "fp16"
	opt := Options{Cache: run.CacheOptions{Dir: t.TempDir()}}
	trainAll(t, start(t, c, opt))
	c.Data.Corrupt.Train.Occlusion, c.Data.Corrupt.Test.Impulse = .5, .1
	s := start(t, c, opt)
	if s.feeder.features.Built != 32 {
		t.Errorf("the outputs of %d images were computed, want 32", s.feeder.features.Built)
	}
	trainAll(t, s)
	r, err := s.Finish(t.Context())
	if err != nil || !strings.Contains(r.Data, "occlusion=0.5") {
		t.Errorf("results are of %q, %v", r.Data, err)
	}
}
