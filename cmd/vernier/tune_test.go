package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// tuneFile writes a comparison of two metrics.
func tuneFile(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tune.yaml")
	text := `
base:
  data: {spec: "folder:` + data + `", augment: none}
  model: {dim: 8, input: {size: 16}}
  epochs: 2
  classes_per_batch: 3
  images_per_class: 2
space:
  optimizer.rate: {log: [1e-4, 1e-1]}
  model.scale: {uniform: [0.5, 2], when: {model.metric: brm}}
compare: {model.metric: [cosine, brm]}
trials: 4
startup: 2
folds: 2
seeds: 3
restarts: 1
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTuneComparesAndItsBestSettingsAreARun(t *testing.T) {
	file, out := tuneFile(t, clitest.Stripes(t, 12, 6)), filepath.Join(t.TempDir(), "runs")
	args := []string{"tune", file, "--out", out, "--jobs", "2", "--cache", t.TempDir()}
	code, table, stderr := vernier(t, args...)
	if code != cli.ExitDone || strings.Count(table, "\n") != 4 || !strings.Contains(table, "| brm | 4 |") || !strings.Contains(table, "Holm") {
		t.Fatalf("exit %d, table\n%s\n%s", code, table, stderr)
	}
	if !strings.Contains(stderr, "best so far") {
		t.Errorf("nothing is said of the best so far: %s", stderr)
	}
	if code, again, stderr := vernier(t, args...); code != cli.ExitDone || again != table {
		t.Errorf("exit %d, the table of a study that is over\n%s\n%s", code, again, stderr)
	}
	if code, _, stderr := vernier(t, "train", "--config", filepath.Join(out, "best-brm.yaml"), "--out", filepath.Join(t.TempDir(), "best")); code != cli.ExitDone {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tune", file}, "--out is missing"},
		{[]string{"tune", file, "--out", out, "--trials", "0"}, "--trials"},
		{[]string{"tune", file, "--out", out, "--set", "seed=9"}, "other settings"},
		{[]string{"tune", file + "x", "--out", out}, "no such file"},
	} {
		if code, _, stderr := vernier(t, c.args...); code == cli.ExitDone || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %s, want %q", c.args, code, stderr, c.want)
		}
	}
}
