package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// tested is the program as package clitest takes it.
func tested() clitest.Program {
	p := program()
	return clitest.Program{Execute: p.Execute, Root: p.Command(logrus.New()), Limits: slices.Collect(maps.Keys(p.Limits))}
}

// papers runs a command line and returns exit code, output and messages.
func papers(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return tested().Run(t, args...)
}

func TestProgram(t *testing.T) { tested().Check(t) }

func TestAMistypedCommandSaysWhatIsMeant(t *testing.T) {
	code, _, errs := papers(t, "brm-fig9")
	if code != cli.ExitUsage || !strings.Contains(errs, "did you mean brm-fig8?") || !strings.Contains(errs, "see 'vernier-papers --help'") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestExperimentsWithGeometryFlowTakeADevice(t *testing.T) {
	args := []string{"drml-tables", "--data", "folder:" + clitest.Stripes(t, 6, 4), "--out", t.TempDir(), "--set", "model.backbone=convnet", "--set", "model.input.size=28"}
	if code, _, errs := papers(t, append(args, "--device", "gpu")...); code != cli.ExitUsage || !strings.Contains(errs, "--device") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := papers(t, append(args, "--device", "cuda:99")...); code == cli.ExitDone || !strings.Contains(errs, "--device cuda:99: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestRatesAreAboveZero(t *testing.T) {
	code, _, errs := papers(t, "drml-ablation", "--rates=1,0")
	if code != cli.ExitUsage || !strings.HasPrefix(errs, "vernier-papers: --rates") || !strings.Contains(errs, "above 0") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
