package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/run"
)

func TestTrainTracesSteps(t *testing.T) {
	out := run.Folder(filepath.Join(t.TempDir(), "run"))
	args := []string{"train", "--data", "folder:" + clitest.Stripes(t, 8, 6), "--size", "16", "--augment", "none", "--epochs", "2", "--classes-per-batch", "3", "--images-per-class", "2", "--validation", "0", "--no-cache"}
	code, _, errs := vernier(t, append(args, "--out", string(out), "--trace", "2")...)
	if code != cli.ExitDone || !strings.Contains(errs, "traced 2 steps to step 3 on cpu") || !strings.Contains(errs, "% of it waiting for pictures; the table is "+out.Path(run.TraceTable)) {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for name, wants := range map[string][]string{run.TraceTable: {"kind ", "adamw", "of the step's"}, run.TraceFile: {`"traceEvents"`, `"wait for pictures"`}} {
		text, err := os.ReadFile(out.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %q in %s", want, name)
			}
		}
	}
	for _, wrong := range [][]string{{"--trace", "-1"}, {"--trace", "1001"}, {"--trace", "2", "--dry-run"}} {
		if code, _, errs := vernier(t, append(args, wrong...)...); code != cli.ExitUsage || !strings.Contains(errs, "--trace") {
			t.Errorf("%v: exit %d: %s", wrong, code, errs)
		}
	}
}
