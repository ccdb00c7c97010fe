package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
)

// What another tool reads of an expansion must give BRM's distances.
func TestExpansionIsExported(t *testing.T) {
	run, out := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "out")
	images := clitest.Stripes(t, 10, 4)
	if code, _, errs := vernier(t, quick(images, run, "--epochs", "1")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "export", run, "--format", "npy", "--expand", "0.001", "--out", out); code != cli.ExitDone || !strings.Contains(errs, "expansion.npy, expansion.json") {
		t.Fatalf("export: exit %d\n%s", code, errs)
	}
	text, err := os.ReadFile(filepath.Join(out, "expansion.json"))
	if err != nil {
		t.Fatal(err)
	}
	var x eval.Expansion
	if err := json.Unmarshal(text, &x); err != nil {
		t.Fatal(err)
	}
	plain, err := gallery.Read(filepath.Join(out, "embeddings.npy"))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := gallery.Read(filepath.Join(out, "expansion.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if x.Bound > 0.001 || wide.H != x.Dim || plain.H != x.H || wide.N != plain.N {
		t.Fatalf("%d x %d of %d x %d: %+v", wide.N, wide.H, plain.N, plain.H, x)
	}
	table, err := gallery.Read(filepath.Join(out, "expansion.parquet"))
	if err != nil || !slices.Equal(table.X, wide.X) || !slices.Equal(table.Paths, plain.Paths) || !slices.Equal(table.Labels, plain.Labels) || table.Metric != "sqeuclidean" {
		t.Fatalf("expansion.parquet: %+v, %v", table, err)
	}
	// A later export and a query by the same expansion give the same rows.
	later, query := filepath.Join(t.TempDir(), "later"), filepath.Join(t.TempDir(), "query.npz")
	if code, _, errs := vernier(t, "export", run, "--format", "npy", "--expansion", filepath.Join(out, "expansion.json"), "--out", later); code != cli.ExitDone || !strings.Contains(errs, fmt.Sprint(x.Dim, " numbers a row")) {
		t.Fatalf("export --expansion: exit %d\n%s", code, errs)
	}
	again, err := gallery.Read(filepath.Join(later, "expansion.npy"))
	if err != nil || !slices.Equal(again.X, wide.X) {
		t.Errorf("by the same expansion: %v", err)
	}
	if code, _, errs := vernier(t, "embed", run, filepath.Join(images, plain.Paths[3]), "--expand", filepath.Join(out, "expansion.json"), "--out", query); code != cli.ExitDone {
		t.Fatalf("embed --expand: exit %d\n%s", code, errs)
	}
	one, err := gallery.Read(query)
	if err != nil || one.H != wide.H {
		t.Fatal(err)
	}
	for c, v := range one.X {
		if math.Abs(float64(v-wide.Row(3)[c])) > 1e-4 {
			t.Fatalf("number %d of a query is %v, want %v", c, v, wide.Row(3)[c])
		}
	}
	if code, _, errs := vernier(t, "export", run, "--expand", "0.1", "--expansion", "x.json", "--out", later); code != cli.ExitUsage || !strings.Contains(errs, "give one of them") {
		t.Errorf("both flags: exit %d\n%s", code, errs)
	}
	m, err := metric.Parse(x.Metric)
	if err != nil {
		t.Fatal(err)
	}
	for i := range plain.N {
		want, err := eval.Distance(m, plain.Row(0), plain.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		got, err := eval.Distance(metric.Metric{Kind: metric.SquaredEuclidean}, wide.Row(0), wide.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		if miss := math.Abs(got - math.Pow(want, float64(m.P))); miss > x.Bound {
			t.Errorf("row %d: %v, want %v^%d (off by %.3g)", i, got, want, m.P, miss)
		}
	}
}

func TestExpansionOptionsAreChecked(t *testing.T) {
	for want, args := range map[string][]string{
		"want a number above 0": {"--expand", "-1"},
		"want at least one of":  {"--format", ""},
		"--expand needs rows":   {"--expand", "0.1", "--format", "onnx"},
	} {
		if code, _, errs := vernier(t, append([]string{"export", "missing"}, args...)...); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", args, code, cli.ExitUsage, want, errs)
		}
	}
}

// What is refused leaves nothing that would stand in the way of another try.
func TestRefusedExpansionLeavesNoFiles(t *testing.T) {
	run, _ := trained(t)
	out := filepath.Join(t.TempDir(), "out")
	// The bound of the run's metric is known before its images are embedded.
	if code, _, errs := vernier(t, "export", run, "--format", "npy", "--expand", "2", "--out", out); code != cli.ExitUsage || !strings.HasPrefix(errs, "vernier: --expand 2: ") || !strings.Contains(errs, "less than 1,") {
		t.Errorf("exit %d, want %d\n%s", code, cli.ExitUsage, errs)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the folder was made")
	}
	if code, _, errs := vernier(t, "export", run, "--format", "npy", "--expand", "1e-12", "--out", out); code != cli.ExitFailed || !strings.Contains(errs, "frequencies") {
		t.Errorf("exit %d, want %d\n%s", code, cli.ExitFailed, errs)
	}
	if code, _, errs := vernier(t, "export", run, "--format", "npy", "--expand", "0.1", "--out", out); code != cli.ExitDone {
		t.Errorf("the next try: exit %d\n%s", code, errs)
	}
}
