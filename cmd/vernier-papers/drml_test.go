package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// smallDRML are settings that bring a preset of geometry flow down to seconds.
func smallDRML(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	text := `
model: {backbone: convnet, dim: 8, input: {size: 16}}
freeze: {bn_stats: false, bn_affine: false}
optimizer: {name: adamw, rate: 1e-3}
schedule: {name: constant}
steps: 2
classes_per_batch: 4
images_per_class: 2
data: {train_classes: "6"}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDRMLTables(t *testing.T) {
	images, config, out := clitest.Stripes(t, 10, 4), smallDRML(t), t.TempDir()
	args := []string{"drml-tables", "--data", "folder:" + images, "--config", config, "--losses", "semihard", "--variants", "sec,brm-drml", "--seeds", "1,2", "--restarts", "1", "--out", out}
	code, text, errs := papers(t, args...)
	if code != 0 || !strings.Contains(text, "4 of 4 runs; 16 test images of 4 classes") {
		t.Fatalf("exit %d\n%s%s", code, text, errs)
	}
	alone, mixed, ok := strings.Cut(text, "## The same images in batches")
	if !ok || !strings.Contains(alone, "| semihard | sec | ") || !strings.Contains(alone, "| semihard | brm-drml | ") || !strings.Contains(alone, "## Recall@K, each image alone") {
		t.Errorf("tables:\n%s", text)
	}
	if strings.Contains(mixed, "R@") || strings.Contains(mixed, "Recall@") || strings.Contains(mixed, "| sec |") || !strings.Contains(mixed, "class-sorted: nearest of its class") {
		t.Errorf("figures of batches:\n%s", mixed)
	}
	lines, err := os.ReadFile(filepath.Join(out, "tables.csv"))
	if err != nil || strings.Count(string(lines), "\n") != 1+2+2*3 || !strings.Contains(string(lines), "semihard-brm-drml-seed2,semihard,brm-drml,2,class-sorted,") {
		t.Errorf("%v\n%s", err, lines)
	}
	var runs []drmlRun
	stored, err := os.ReadFile(filepath.Join(out, "tables.json"))
	if err != nil || json.Unmarshal(stored, &runs) != nil || len(runs) != 4 || runs[1].Trial.Mixed == nil || runs[0].Trial.Config.Loss.Terms[0].Name != "sec" {
		t.Errorf("%v\n%s", err, stored)
	}
	if _, err := os.Stat(filepath.Join(out, "tables.png")); err != nil {
		t.Error(err)
	}
	if code, again, errs := papers(t, args...); code != 0 || again != text {
		t.Errorf("once more: exit %d\n%s%s", code, again, errs)
	}
	code, _, errs = papers(t, append(args, "--set", "model.dim=4")...)
	if code == 0 || !strings.Contains(errs, "holds a run with other settings") {
		t.Errorf("other settings: exit %d\n%s", code, errs)
	}
}

func TestDRMLAblation(t *testing.T) {
	out := t.TempDir()
	code, text, errs := papers(t, "drml-ablation", "--data", "folder:"+clitest.Stripes(t, 10, 4), "--config", smallDRML(t), "--parts", "convergence", "--rates", "0.5", "--seeds", "1", "--restarts", "1", "--out", out)
	if code != 0 || !strings.Contains(text, "| triplet | lambda 0.2, rate x0.5 |") {
		t.Fatalf("exit %d\n%s%s", code, text, errs)
	}
	stored, err := os.ReadFile(filepath.Join(out, "ablation.json"))
	var runs []drmlRun
	if err != nil || json.Unmarshal(stored, &runs) != nil || len(runs) != 4 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if r.Trial.Config.Optimizer.Rate != .0005 {
			t.Errorf("%s has rate %v", r.Name, r.Trial.Config.Optimizer.Rate)
		}
	}
	curves, err := os.ReadFile(filepath.Join(out, "curves.csv"))
	if err != nil || !strings.Contains(string(curves), "triplet-lambda0.2-rate0.5-seed1,1,2,shuffled,") {
		t.Errorf("%v\n%s", err, curves)
	}
	for _, name := range []string{"ablation.md", "ablation.csv", "convergence-curve-triplet-r1-alone.png", "convergence-curve-semihard-nmi-shuffled.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestDRMLRefusesMistakes(t *testing.T) {
	for says, args := range map[string][]string{
		"--data is missing":            {"drml-tables", "--out", "x"},
		"--out is missing":             {"drml-ablation", "--data", "glyphs"},
		`--losses "tripel"`:            {"drml-tables", "--data", "glyphs", "--out", "x", "--losses", "tripel"},
		"plain is given twice":         {"drml-tables", "--data", "glyphs", "--out", "x", "--variants", "plain,plain"},
		`--parts "fig3"`:               {"drml-ablation", "--data", "glyphs", "--out", "x", "--parts", "fig3"},
		"bn_inception-52deb4733.pth":   {"drml-tables", "--data", "glyphs", "--out", "x", "--losses", "npair"},
		"did you mean optimizer.rate?": {"drml-tables", "--data", "glyphs", "--out", "x", "--weights", "none", "--set", "optimizer.rat=1"},
		`--presets "inshop"`:           {"drml-tables", "--data", "glyphs", "--out", "x", "--presets", "inshop"},
		"a number above 0":             {"drml-ablation", "--data", "glyphs", "--out", "x", "--rates", "0"},
	} {
		for i, a := range args {
			if a == "x" {
				args[i] = filepath.Join(t.TempDir(), "x")
			}
		}
		if code, _, errs := papers(t, args...); code == 0 || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}

func TestAblationPlansEachRunOnce(t *testing.T) {
	f := &drmlAblation{parts: drmlParts, factors: []float64{1}}
	f.seeds = []uint{1, 2}
	if err := f.plan(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range f.runs {
		if names[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		names[r.Name] = true
	}
	// Two losses at 9 lambdas; 8 sizes at 2 lambdas; semi-hard alone, flat and with
	// flow, and triplet flat, whose others are among the first; semi-hard at
	// lambda 0.2.
	if want := 2 * (2*9 + 2*8*2 + 4 + 1); len(f.runs) != want {
		t.Errorf("%d runs, want %d", len(f.runs), want)
	}
	for _, part := range drmlParts {
		for _, g := range f.groups[part] {
			if len(g.runs) != 2 || g.runs[0].Seed != 1 || g.runs[1].Seed != 2 {
				t.Errorf("%s: %+v", part, g)
			}
		}
	}
	if a, b := f.groups["lambda"][0].runs[0], f.groups["curvature"][0].runs[0]; a != b || !a.curve {
		t.Errorf("the triplet loss alone is run twice, %v and %v", a.Name, b.Name)
	}
}
