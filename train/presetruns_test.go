package train

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/run"
)

// Every loss and optimizer of a preset makes two steps with a small network on
// small pictures. Presets that differ in the data set alone are run once.
func TestEveryPresetTrainsScaledDown(t *testing.T) {
	images := shades(t, 8, 4)
	done := map[string]bool{}
	for _, p := range allPresets(t) {
		kind := p.Name[:strings.LastIndexByte(strings.TrimSuffix(strings.TrimSuffix(p.Name, "-128"), "-512"), '-')]
		if done[kind] {
			continue
		}
		done[kind] = true
		size, dim, head := 16, 8, "embedding.weight"
		list := []run.Setting{
			{Path: "preset", Value: p.Name}, {Path: "data.spec", Value: "folder:" + images}, {Path: "model.backbone", Value: "convnet"},
			{Path: "classes_per_batch", Value: 3}, {Path: "images_per_class", Value: 2}, {Path: "steps", Value: 2}, {Path: "warmup_epochs", Value: 0},
		}
		if kind == "avsl" {
			size, dim, head = 32, 24, "embedding.level2.weight"
			list = append(list, run.Setting{Path: "model.levels.blocks", Value: "block2,block3,block4"}, run.Setting{Path: "model.levels.keep", Value: 2})
		}
		c := presetConfig(t, append(list, run.Setting{Path: "model.input.size", Value: size}, run.Setting{Path: "model.dim", Value: dim})...)
		if c.Sampler == "random" {
			c.BatchSize = 6
		}
		s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		before := all(t, s)
		if err := s.Train(context.Background()); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		after := all(t, s)
		if s.stepper.opti.Steps() != 2 || !slices.Contains(moved(s.model.Params, before, after), head) {
			t.Errorf("%s: %d steps, moved %v", p.Name, s.stepper.opti.Steps(), moved(s.model.Params, before, after))
		}
		if rows := s.model.Params.Get(losses.ClassRowsParam); rows != nil && slices.Equal(before[rows.Name], after[rows.Name]) {
			t.Errorf("%s: the rows of classes did not move", p.Name)
		}
		s.Close()
	}
}

func allPresets(t *testing.T) []run.Preset {
	t.Helper()
	all, err := run.Presets()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func presetConfig(t *testing.T, list ...run.Setting) run.Config {
	t.Helper()
	s := &run.Settings{}
	if err := s.Add(list...); err != nil {
		t.Fatal(err)
	}
	c, err := s.Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
