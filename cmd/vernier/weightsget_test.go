package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/weights/public"
)

func TestWeightsGetListsWhatCanBeFetched(t *testing.T) {
	code, out, errs := vernier(t, "weights", "get")
	for _, f := range public.Files() {
		if !strings.Contains(out, f.Name+" ") || !strings.Contains(out, f.License) || !strings.Contains(out, "--backbone "+f.Backbone) {
			t.Errorf("%s is not listed: exit %d\n%s%s", f.Name, code, out, errs)
		}
		if _, err := backbone.New(f.Backbone); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestWeightsGetSaysWhatToDoByHand(t *testing.T) {
	dir := t.TempDir()
	code, _, errs := vernier(t, "weights", "get", "resnet50-v2", "--dir", dir, "--mirror", "nowhere://here")
	for _, says := range []string{"to do it by hand: fetch https://download.pytorch.org/models/resnet50-11ad3fa6.pth", "begins with 11ad3fa6", "put it into " + dir} {
		if code != cli.ExitFailed || !strings.Contains(errs, says) {
			t.Errorf("exit %d, does not say %q\n%s", code, says, errs)
		}
	}
	if code, _, errs := vernier(t, "weights", "get", "resnet-50"); code == cli.ExitDone || !strings.Contains(errs, "resnet50-v1") {
		t.Errorf("an unknown name: exit %d\n%s", code, errs)
	}
}

// A run takes the name of a public file that is in the cache already.
func TestTrainTakesPublicWeightsByName(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	f, err := public.Find("resnet50-v1")
	if err != nil {
		t.Fatal(err)
	}
	path, err := f.Path()
	if err != nil || !strings.HasPrefix(path, cache) {
		t.Fatal(path, err)
	}
	code, out, errs := vernier(t, "train", "--data", "glyphs", "--out", "x", "--weights", f.Name, "--print-config")
	if code != cli.ExitDone || !strings.Contains(out, path) {
		t.Errorf("exit %d, no %s in\n%s%s", code, path, out, errs)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs = vernier(t, "train", "--data", "glyphs", "--backbone", "resnet50", "--out", filepath.Join(cache, "run"), "--weights", f.Name)
	if code == cli.ExitDone || !strings.Contains(errs, path) || !strings.Contains(errs, "the file is empty") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	code, _, errs = vernier(t, "train", "--data", "glyphs", "--out", "x", "--weights", "resnet50-v3")
	if code != cli.ExitUsage || !strings.Contains(errs, "--weights: there is no file resnet50-v3, and no public weight file is known") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
