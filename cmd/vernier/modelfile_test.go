package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	runs "github.com/vernier-ml/vernier/run"
)

// TestModelFilesOutsideARun: a copy of best.safetensors embeds and measures as its run
// does.
func TestModelFilesOutsideARun(t *testing.T) {
	folder, images := trained(t)
	dir := t.TempDir()
	alone := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "birds-"+name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := alone(runs.BestFile)
	_, want, _ := vernier(t, "embed", folder, images)
	code, got, errs := vernier(t, "embed", file, images)
	if code != cli.ExitDone || got != want || want == "" {
		t.Errorf("exit %d, %d bytes, want %d\n%s", code, len(got), len(want), errs)
	}
	measure := func(what string) *runs.Results {
		t.Helper()
		code, text, errs := vernier(t, "eval", what, "--data", "folder:"+images, "--restarts", "1", "--json")
		r := &runs.Results{}
		if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
			t.Fatalf("exit %d, %v\n%s", code, err, errs)
		}
		if r.Model.Split = ""; what == file && !strings.Contains(errs, "does not say what it was trained on") {
			t.Errorf("no warning in %s", errs)
		}
		return r
	}
	ran, copied := measure(folder), measure(file)
	if !reflect.DeepEqual(ran.Model, copied.Model) || ran.Epoch != copied.Epoch || copied.RawPixels == nil || copied.Untrained != nil {
		t.Errorf("of the run %+v\nof the file %+v", ran.Model, copied.Model)
	}
	broken := filepath.Join(dir, "broken.safetensors")
	if err := os.WriteFile(broken, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"which does not name the data of its run":  {"eval", file},
		"is a file of one model":                   {"eval", file, "--epoch", "last", "--data", "folder:" + images},
		"embed and eval take a model file as well": {"export", file},
		"give the folder":                          {"embed", filepath.Join(folder, runs.BestFile), images},
		"is no Vernier model":                      {"embed", alone(runs.CheckpointFile), images},
		"broken.safetensors":                       {"embed", broken, images},
	} {
		if code, _, errs := vernier(t, args...); code == cli.ExitDone || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d, want %q in\n%s", args, code, says, errs)
		}
	}
}
