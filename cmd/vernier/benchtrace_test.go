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
