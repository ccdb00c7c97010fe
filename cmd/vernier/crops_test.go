package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	runs "github.com/vernier-ml/vernier/run"
)

// TestCropsTravelWithTheModel: a model that was validated on five crops embeds, is measured
// and searched on five, unless another number is asked for, whose rows are refused.
func TestCropsTravelWithTheModel(t *testing.T) {
	images := clitest.Stripes(t, 8, 4)
	folder := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(images, folder, "--resize", "20", "--crops", "5")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	cfg, err := runs.Folder(folder).LoadConfig()
	if err != nil || cfg.Model.Input.Crops != 5 {
		t.Fatalf("%+v, %v", cfg.Model.Input, err)
	}
	one := func(args ...string) string {
		t.Helper()
		code, out, errs := vernier(t, args...)
		if code != cli.ExitDone {
			t.Fatalf("%q: exit %d\n%s", args, code, errs)
		}
		return out
	}
	five := one("embed", folder, images)
	if five != one("embed", folder, images, "--crops", "5") {
		t.Error("the model's own number of crops is another")
	}
	if five == one("embed", folder, images, "--crops", "1") || five == one("embed", folder, images, "--crops", "10") {
		t.Error("other crops give the same rows")
	}
	index := filepath.Join(t.TempDir(), "images.index")
	one("index", folder, "--out", index, images)
	query := filepath.Join(images, "class 0", "0.png")
	if found, err := filepath.Glob(filepath.Join(images, "*", "*")); err == nil && len(found) > 0 {
		query = found[0]
	}
	if found := one("search", folder, "--gallery", index, "--query", query, "-k", "1"); !strings.Contains(found, filepath.Base(query)) {
		t.Errorf("an image is not its own nearest:\n%s", found)
	}
	if code, _, errs := vernier(t, "search", folder, "--gallery", index, "--query", query, "--crops", "1"); code == cli.ExitDone || !strings.Contains(errs, "another model") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if one("eval", folder, "--restarts", "1") == one("eval", folder, "--restarts", "1", "--crops", "1") {
		t.Error("the figures of the middle are those of five crops")
	}
	// Queries of a service are embedded on the crops that its gallery was made with.
	middle := filepath.Join(t.TempDir(), "middle.index")
	one("index", folder, "--out", middle, "--crops", "1", images)
	at, _, end := serving(t, folder, "--gallery", middle, "--crops", "1")
	defer end()
	body, err := os.ReadFile(query)
	if err != nil {
		t.Fatal(err)
	}
	served, err := asking(t, at).SearchImage(t.Context(), body, client.Options{K: 1})
	if err != nil || len(served.Results) != 1 || !strings.HasSuffix(query, filepath.FromSlash(served.Results[0].Neighbors[0].Path)) || served.Results[0].Neighbors[0].Distance > 1e-5 {
		t.Errorf("served %+v, %v", served, err)
	}
	for says, args := range map[string][]string{
		"another model":                                         {"serve", folder, "--gallery", middle},
		"--crops 3: there is 1, 5, 10":                          {"embed", folder, images, "--crops", "3"},
		"resize these to more than that, as to":                 quick(images, filepath.Join(t.TempDir(), "run"), "--crops", "5"),
		"outputs of the frozen blocks are kept of their middle": quick(images, filepath.Join(t.TempDir(), "run"), "--resize", "20", "--crops", "5", "--freeze-to", "block1", "--cache-frozen"),
	} {
		if code, _, errs := vernier(t, args...); code == cli.ExitDone || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d, want %q in\n%s", args, code, says, errs)
		}
	}
}
