package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

func TestBenchTracesAStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step.json")
	code, out, errs := vernier(t, "bench", "bninception-train", "--batch", "1", "--seconds", "0.01", "--trace", path)
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"op ", "GB/s", "adamw", "conv grad weights", "% of the step's"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ts, Dur float64
			Args    struct{ Kind string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range file.TraceEvents {
		kinds[e.Args.Kind]++
	}
	for _, kind := range []string{"step", "clip", "adamw", "host loss"} {
		if kinds[kind] != 1 {
			t.Errorf("%s is there %d times", kind, kinds[kind])
		}
	}
	step := file.TraceEvents[0]
	for _, e := range file.TraceEvents {
		if e.Ts < step.Ts || e.Ts+e.Dur > step.Ts+step.Dur+.001 {
			t.Errorf("%+v is not inside of the step %+v", e, step)
		}
	}
}

func TestBenchTracesIntoJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step.json")
	code, out, errs := vernier(t, "bench", "bninception-infer", "--batch", "1", "--seconds", "0.01", "--json", "--trace", path)
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Name  string
		Trace struct {
			Steps               int
			Seconds, Operations float64
			Kinds, Shapes       []struct {
				Kind, Shapes          string
				Calls, Seconds, Share float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Name != "bninception-infer" || r.Trace.Steps != 1 || !(r.Trace.Operations > 0 && r.Trace.Operations <= r.Trace.Seconds) {
		t.Errorf("%+v", r)
	}
	// The kinds are the rows of all shapes together.
	sums := map[string]float64{}
	for _, row := range r.Trace.Shapes {
		sums[row.Kind] += row.Seconds
	}
	for _, k := range r.Trace.Kinds {
		if d := sums[k.Kind] - k.Seconds; d > 1e-9 || d < -1e-9 || k.Calls == 0 || k.Shapes != "" {
			t.Errorf("%+v; its rows take %v s", k, sums[k.Kind])
		}
	}
	if len(sums) != len(r.Trace.Kinds) || sums["linear"] == 0 || sums["download"] == 0 {
		t.Errorf("kinds %+v", r.Trace.Kinds)
	}
}

func TestBenchOpensTheTraceBeforeItMeasures(t *testing.T) {
	code, out, errs := vernier(t, "bench", "bninception-train", "--seconds", "3600", "--trace", filepath.Join(t.TempDir(), "missing", "step.json"))
	if code != cli.ExitUsage || out != "" || !strings.Contains(errs, "--trace: ") || !strings.Contains(errs, "missing") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	dir := t.TempDir() // nothing is left of what was not written
	if code, _, _ := vernier(t, "bench", "bninception-train", "--batch", "100000000", "--trace", filepath.Join(dir, "step.json")); code == cli.ExitDone {
		t.Error("a batch of 100000000 was measured")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

func TestBenchRefusesATraceOfWhatIsNoNetwork(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"gemm/256 --trace x", "--trace: gemm does not run a network"},
		{"bninception-proxies-train --trace x", "as in bninception-proxies-train/"},
		{"bninception-train --trace x --compare true", "exclude each other"},
	} {
		code, _, errs := vernier(t, append([]string{"bench"}, strings.Fields(c.args)...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("bench %s: exit %d, %q does not say %q", c.args, code, errs, c.want)
		}
	}
}
