package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

func TestPresetsAreListedAndShownAsTheyAreUsed(t *testing.T) {
	code, out, errs := vernier(t, "presets")
	if code != cli.ExitDone || !strings.Contains(out, "brm-n-cub-512") || !strings.Contains(out, "(quoted)") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	code, shown, errs := vernier(t, "presets", "sec-ms-cub")
	if code != cli.ExitDone || !strings.Contains(shown, "read in the authors' repository): R@1 68.8, R@2 79.4, R@4 87.2, R@8 92.5, NMI 0.729, F1 0.448") || !strings.Contains(shown, "mean: [104, 117, 123]") {
		t.Errorf("exit %d\n%s\n%s", code, shown, errs)
	}
	// What it shows is what train uses, but for the data set, and a file for --config.
	code, used, errs := vernier(t, "train", "--preset", "sec-ms-cub", "--weights", "none", "--print-config")
	if _, rest, _ := strings.Cut(shown, "\npreset:"); code != cli.ExitDone || used != "preset:"+rest {
		t.Errorf("exit %d\n%s\nshown\n%s\nused\n%s", code, errs, shown, used)
	}
	if code, out, _ = vernier(t, "presets", "sec-ms-cub", "--json"); code != cli.ExitDone || !json.Valid([]byte(out)) {
		t.Errorf("--json: exit %d\n%s", code, out)
	}
	if code, _, errs = vernier(t, "presets", "brm-cub-512"); code != cli.ExitUsage || !strings.Contains(errs, "did you mean brm-") {
		t.Errorf("a wrong name: exit %d\n%s", code, errs)
	}
	if code, _, errs = vernier(t, "train", "--preset", "sec-ms-cub", "--data", "glyphs", "--out", "x"); code != cli.ExitUsage || !strings.Contains(errs, "bn_inception-52deb4733.pth") {
		t.Errorf("without weights: exit %d\n%s", code, errs)
	}
}

func TestARunFromAPresetShowsReportedFiguresBesideItsOwn(t *testing.T) {
	data := clitest.Stripes(t, 8, 8)
	run := filepath.Join(t.TempDir(), "run")
	code, out, errs := vernier(t, "train", "--preset", "multi-similarity-cub", "--data", "folder:"+data, "--out", run, "--backbone", "convnet", "--size", "16", "--dim", "8",
		"--classes-per-batch", "3", "--images-per-class", "4", "--steps", "3")
	if code != cli.ExitDone || !strings.Contains(strings.Join(strings.Fields(out), " "), "reported [1] 65.7 77.0 86.3 91.2") || !strings.Contains(out, "not measured here") || !strings.Contains(out, "no measure for it") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	code, out, errs = vernier(t, "eval", run, "--json")
	var r struct {
		Preset struct {
			Name string
			Same bool
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone || r.Preset.Name != "multi-similarity-cub" || r.Preset.Same {
		t.Errorf("exit %d, %v: %+v\n%s", code, err, r, errs)
	}
}
