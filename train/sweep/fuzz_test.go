package sweep

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTooManyRunsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"seeds: 100000000": "seeds: 100000000: a sweep has at most 10000 runs",
		"seeds: 5000\ngrid: {model.dim: [8, 16, 32]}":                                 "x.yaml: 3 values x 5000 seeds are more than the 10000 runs",
		"folds: 9223372036854775807":                                                  "folds: 9223372036854775807: a sweep has at most 10000 runs",
		"folds: 10000\nseeds: 10000":                                                  "x.yaml: 10000 folds x 10000 seeds are more than",
		"random: {trials: 1000000000, values: {model.dim: [8, 16]}}":                  "trials: 1000000000: a sweep has at most 10000 runs",
		"restarts: 9223372036854775807":                                               "k-means runs 1 to 10000 times",
		"random: {trials: 2, values: {seed: {int: [0, 9e18]}}}":                       "want numbers of at most 9007199254740992",
		"grid: {a: " + list(1000) + ", b: " + list(1000) + ", c: " + list(1000) + "}": "1000 values x 1000 values x 1000 values are more than",
		"seeds: &a [*a]":     "more than 100 levels",
		"seeds: 2\nseeds: 3": "seeds is given twice",
	} {
		_, err := Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q in it", text, err, want)
		}
	}
}

// list is a YAML list of n numbers.
func list(n int) string { return "[" + strings.Repeat("1, ", n-1) + "1]" }

func TestAPlanStopsWithItsContext(t *testing.T) {
	f, err := Parse("x.yaml", []byte("base: {data: {spec: glyphs}}\nseeds: 10000"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Plan(ctx, nil); err != ctx.Err() {
		t.Errorf("%v, want %v", err, ctx.Err())
	}
}

func TestAliasesInASweep(t *testing.T) {
	f, err := Parse("x.yaml", []byte("base: {data: {spec: glyphs}, model: {dim: &d 16}}\ngrid: {model.dim: [*d, 8]}"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := f.Plan(t.Context(), nil)
	if err != nil || len(jobs) != 2 || jobs[0].Config.Model.Dim != 16 || jobs[1].Config.Model.Dim != 8 {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// FuzzFile plans the sweeps of small files.
func FuzzFile(f *testing.F) {
	names, err := filepath.Glob("../../docs/experiments/*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatal(err, "no sweeps")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{
		"base: {data: {spec: glyphs}}\ngrid: {model.metric: [cosine, brm], loss: [{loss.name: npairs}, {loss.name: proxy-anchor, optimizer.proxy_rate: 100}]}\nseeds: [1, 2]",
		"base: {data: {spec: glyphs}}\nrandom: {trials: 3, seed: 1, values: {optimizer.rate: {log: [1e-5, 1e-2]}, model.dim: {int: [8, 16]}, model.scale: {uniform: [0.5, 2]}}}\nfolds: 2",
		"seeds: 100000000", "baseline: {model.metric: cosine}\nfigure: recall@1\nrestarts: 20", "base: &a {data: {spec: glyphs}}\ngrid: {model.dim: [1, *a]}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x.yaml", []byte(text))
		if err != nil {
			return
		}
		runs := max(file.Folds, 1) * len(file.Seeds)
		for _, a := range file.axes {
			runs *= len(a.values)
		}
		if runs > MaxRuns {
			t.Fatalf("%q has %d runs", text, runs)
		}
		if runs > 50 {
			return // each takes milliseconds
		}
		jobs, err := file.Plan(t.Context(), nil)
		if err == nil && len(jobs) != runs {
			t.Fatalf("%q: %d of %d runs", text, len(jobs), runs)
		}
		if err == nil {
			file.Order(jobs)
			file.With()
		}
	})
}
