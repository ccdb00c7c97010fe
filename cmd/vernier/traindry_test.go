package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

func TestADryRunSaysWhatARunTakesAndLeavesNothing(t *testing.T) {
	spec, out := "folder:"+clitest.Stripes(t, 8, 6), filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--data", spec, "--size", "16", "--augment", "none", "--epochs", "3", "--classes-per-batch", "3", "--images-per-class", "2", "--validation", "0.4", "--no-cache"}
	code, text, errs := vernier(t, append(args, "--dry-run=json", "--out", out)...)
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var e train.Estimate
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	if e.Trained < 200_000 || e.Batch != 4 || e.Epochs != 3 || e.Steps != 3*e.StepsAnEpoch || e.Samples < 2 || !(e.StepSeconds > 0 && e.EmbedSeconds > 0) {
		t.Errorf("%+v", e)
	}
	if want := (float64(e.Steps)*e.StepSeconds + float64(e.Embedded)*e.EmbedSeconds + e.End.Seconds) / 3600; e.Hours < .99*want || e.Hours > 1.01*want || e.Embedded != 3*2*6 {
		t.Errorf("%v hours, want %v; %d images embedded", e.Hours, want, e.Embedded)
	}
	if d := e.End; d.Images != 4*6 || d.Classes != 4 || d.Sample != 4*6 || d.Restarts != 20 || !(d.LastSeconds > 0 && d.Seconds > 2*d.LastSeconds) {
		t.Errorf("the end: %+v", d)
	}
	m := e.Memory
	if m.Weights < 4*int64(e.Trained) || m.Optimizer < 8*int64(e.Trained) || m.Activations == 0 || m.Workspace == 0 || m.Batches == 0 || m.Pictures == 0 || m.End <= m.Program+m.Weights || e.Total != m.Total() || e.Total > e.Room {
		t.Errorf("%+v, %d of %d", m, e.Total, e.Room)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made")
	}
	code, text, _ = vernier(t, append(args, "--dry-run")...) // without --out
	if code != cli.ExitDone || !regexp.MustCompile(`(?m)^in all +[0-9hms.]+s$`).MatchString(text) || !strings.Contains(text, "MiB") || !strings.Contains(text, "12 images embedded after each of 3 epochs (36 in all), ") {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestARunThatDoesNotFitIsRefusedWithTheNumbers(t *testing.T) {
	spec, out := "folder:"+clitest.Stripes(t, 6, 4), filepath.Join(t.TempDir(), "run")
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		code, _, errs := vernier(t, append([]string{"train", "--data", spec, "--size", "16", "--augment", "none", "--classes-per-batch", "3", "--images-per-class", "2", "--no-cache", "--out", out, "--memory-limit", "1.5MiB"}, dry...)...)
		if code != cli.ExitFailed || !strings.Contains(errs, "the limit is 1 MiB") || !strings.Contains(errs, "activations and gradients") || !strings.Contains(errs, "--micro-batch") {
			t.Errorf("%v: exit %d: %s", dry, code, errs)
		}
		if _, err := os.Stat(filepath.Join(out, run.LastFile)); err == nil {
			t.Error("a model was written")
		}
	}
	for _, c := range [][2]string{{"--dry-run=yes", "json"}, {"--memory-limit=much", "8GiB"}, {"--memory-limit=-3G", "8GiB"}} {
		code, _, errs := vernier(t, "train", "--data", spec, "--out", out, c[0])
		if code != cli.ExitUsage || !strings.Contains(errs, c[1]) {
			t.Errorf("%s: exit %d: %s", c[0], code, errs)
		}
	}
}

func TestSizesOfMemoryAreRead(t *testing.T) {
	for text, want := range map[string]int64{"8GiB": 8 << 30, "1.5G": 3 << 29, "500M": 500 << 20, "500 MB": 500 << 20, "1024": 1024, "2KiB": 2048} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "0", "-1G", "1e30G", "3X", "NaN"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
