package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// vernier runs a command line and returns exit code, output and messages.
func vernier(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return vernierIn(t, context.Background(), args...)
}

// execute executes a command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return program().Execute(ctx, args, stdout, stderr)
}

func vernierIn(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// quick are flags for a run of about a second.
func quick(data, out string, more ...string) []string {
	return append([]string{"train", "--data", "folder:" + data, "--out", out, "--size", "16", "--epochs", "2", "--dim", "8",
		"--classes-per-batch", "3", "--images-per-class", "4", "--augment", "none", "--validation", "0.3"}, more...)
}

func TestTrainEvalEmbedExport(t *testing.T) {
	data := clitest.Stripes(t, 12, 8)
	run := filepath.Join(t.TempDir(), "run")
	if code, out, errs := vernier(t, quick(data, run, "--epochs", "12", "--rate", "0.003")...); code != cli.ExitDone || !strings.Contains(out, "raw pixels") {
		t.Fatalf("train: exit %d\n%s\n%s", code, out, errs)
	}
	for _, f := range []string{"config.json", "log.jsonl", "history.csv", "best.safetensors", "last.safetensors", "checkpoint.safetensors", "results.json",
		"figures/loss.png", "figures/recall.png", "figures/distances.png", "figures/neighbors.png"} {
		if info, err := os.Stat(filepath.Join(run, f)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	stored, err := os.ReadFile(filepath.Join(run, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := vernier(t, "eval", run, "--json")
	if code != cli.ExitDone {
		t.Fatalf("eval: exit %d\n%s", code, errs)
	}
	if out != string(stored) {
		t.Errorf("eval --json prints\n%s\nresults.json holds\n%s", out, stored)
	}
	var results map[string]map[string]any
	trimmed := map[string]any{}
	if err := json.Unmarshal(stored, &trimmed); err != nil {
		t.Fatal(err)
	}
	delete(trimmed, "epoch")
	delete(trimmed, "data")
	delete(trimmed, "last_epoch")
	text, _ := json.Marshal(trimmed)
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"model", "raw_pixels", "untrained"} {
		for _, key := range []string{"recall@1", "recall@2", "recall@4", "recall@8", "nmi", "f1", "distance", "split", "queries"} {
			if _, ok := results[what][key]; !ok {
				t.Errorf("results.json has no %s of %s", key, what)
			}
		}
	}
	if got := results["model"]["queries"]; got != 48. {
		t.Errorf("%v queries, want 6 unseen classes x 8 images", got)
	}
	if model, raw := results["model"]["recall@1"].(float64), results["raw_pixels"]["recall@1"].(float64); model <= raw {
		t.Errorf("Recall@1 %.1f, not above raw pixels, %.1f", model, raw)
	}

	one := filepath.Join(data, "class 00", "3.png")
	code, out, errs = vernier(t, "embed", run, one, filepath.Join(data, "class 01"))
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != cli.ExitDone || len(lines) != 1+1+8 || !strings.HasPrefix(lines[0], "path,e0,") || !strings.HasPrefix(lines[1], one+",") {
		t.Errorf("embed: exit %d\n%s\n%s", code, out, errs)
	}
	code, out, errs = vernier(t, "export", run, "--json")
	var exported exportReport
	if err := json.Unmarshal([]byte(out), &exported); err != nil || code != cli.ExitDone || exported.Rows != 48 || exported.Dim != 8 || len(exported.Files) != 12 {
		t.Errorf("export: exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	for _, f := range []string{"model.safetensors", "embeddings.safetensors", "embeddings.npy", "labels.npy", "paths.npy", "network.npz", "embeddings.npz", "embeddings.csv", "embeddings.parquet", "classes.csv", "metric.json", "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(run, "export", f)); err != nil {
			t.Errorf("export: %v", err)
		}
	}
	if code, _, errs = vernier(t, "export", run); code != cli.ExitFailed || !strings.Contains(errs, "--force") {
		t.Errorf("export over an export: exit %d\n%s", code, errs)
	}
}

func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	existing := t.TempDir()
	if err := os.WriteFile(filepath.Join(existing, "thesis.txt"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	images := clitest.Stripes(t, 16, 2)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, cli.ExitDone, ""},
		{[]string{"version"}, cli.ExitDone, ""},
		{[]string{"data", "list"}, cli.ExitDone, ""},
		{[]string{"trian"}, cli.ExitUsage, "did you mean train"},
		{[]string{"data", "chek"}, cli.ExitUsage, "did you mean check"},
		{[]string{"train"}, cli.ExitUsage, "--data"},
		{[]string{"train", "--data", "glyphs"}, cli.ExitUsage, "--out"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--metric", "no-such-metric"}, cli.ExitUsage, "euclidean"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--metric", "brm:relu"}, cli.ExitUsage, "softsign"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss", "hinge"}, cli.ExitUsage, "proxy-anchor"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss-param", "margin"}, cli.ExitUsage, "name=value"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss-param", "margn=1"}, cli.ExitUsage, "temperature"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--backbone", "resnet"}, cli.ExitUsage, "convnet"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--pool", "sum"}, cli.ExitUsage, "avg+max"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--optimizer", "lion"}, cli.ExitUsage, "adamw"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--schedule", "linear"}, cli.ExitUsage, "cosine"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--augment", "mixup"}, cli.ExitUsage, "characters"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--rate", "-1"}, cli.ExitUsage, "rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--rate", "fast"}, cli.ExitUsage, "rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--epochs", "0"}, cli.ExitUsage, "epochs"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--train-classes", "1.5"}, cli.ExitUsage, "fraction"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--size", "-3"}, cli.ExitUsage, "size"},
		{[]string{"train", "--data", "glyphs", "--out", existing}, cli.ExitUsage, "--force"},
		{[]string{"train", "--data", "glyphs", "--out", existing, "--force"}, cli.ExitUsage, "holds no run"},
		{[]string{"train", "--data", "folder:" + missing, "--out", missing + "2"}, cli.ExitFailed, "missing"},
		{[]string{"train", "--resume", missing}, cli.ExitFailed, "there is no folder"},
		{[]string{"train", "--resume", existing}, cli.ExitFailed, "not a run folder"},
		{[]string{"train", "--resume", missing, "--out", "runs/a"}, cli.ExitUsage, "--out"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--set", "optimizer.rat=3"}, cli.ExitUsage, "did you mean optimizer.rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--set", "epochs"}, cli.ExitUsage, "KEY=VALUE"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--config", missing}, cli.ExitUsage, "--config"},
		{[]string{"eval"}, cli.ExitUsage, "RUN is missing"},
		{[]string{"eval", missing}, cli.ExitFailed, "there is no folder"},
		{[]string{"eval", missing, "--k", "0"}, cli.ExitUsage, "--k"},
		{[]string{"eval", missing, "--split", "dev"}, cli.ExitUsage, "validation"},
		{[]string{"eval", missing, "--ties", "kind"}, cli.ExitUsage, "pessimistic"},
		{[]string{"eval", "a", "b"}, cli.ExitUsage, "unexpected"},
		{[]string{"embed", missing}, cli.ExitUsage, "IMAGE is missing"},
		{[]string{"export", missing, "--format", "onnx2"}, cli.ExitUsage, "safetensors"},
		{[]string{"data", "check"}, cli.ExitUsage, "SPEC is missing"},
		{[]string{"data", "check", "birds"}, cli.ExitUsage, "folder:PATH"},
		{[]string{"--nonsense"}, cli.ExitUsage, "nonsense"},
		{[]string{"train", "--epochz", "3"}, cli.ExitUsage, "unknown flag: --epochz; did you mean --epochs?"},
		{[]string{"train", "--optimiser", "adam"}, cli.ExitUsage, "did you mean --optimizer?"},
		{[]string{"eval", missing, "--splt", "test"}, cli.ExitUsage, "did you mean --split?"},
		{[]string{"train", "--data", "glyhps", "--out", missing}, cli.ExitUsage, "did you mean glyphs?"},
		{[]string{"train", "--data", "foldr:" + images, "--out", missing}, cli.ExitUsage, "did you mean folder:" + images + "?"},
		{[]string{"train", "--data", images, "--out", missing}, cli.ExitUsage, "did you mean folder:" + images + "?"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--train-classes", "16"}, cli.ExitUsage, "--train-classes: folder:" + images + ": 16 of its 16 classes"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--freeze", "xx.*"}, cli.ExitUsage, `--freeze: no parameter has a name like "xx.*"`},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--freeze", "*"}, cli.ExitUsage, "--freeze: there is nothing to train"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--classes-per-batch", "4", "--images-per-class", "4", "--micro-batch", "5"}, cli.ExitUsage, "--micro-batch: micro-batches of 5 images do not fill"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--classes-per-batch", "4", "--images-per-class", "4", "--micro-batch", "1"}, cli.ExitUsage, "--micro-batch: a micro-batch of one image has no statistics"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--schedule", "multistep", "--gamma", "0.1", "--milestones", "5,3"}, cli.ExitUsage, "--milestones, --schedule: schedule: milestones [5 3]"},
		{[]string{"train", "--resume", missing, "--from", "bset"}, cli.ExitUsage, `--from "bset": want latest, best, or the number of a kept epoch, from 1 on; did you mean best?`},
		{[]string{"train", "--resume", missing, "--from", "0"}, cli.ExitUsage, "--from 0: want latest"},
		{[]string{"train", "--data", "glyphs", "--out", filepath.Join(existing, "thesis.txt")}, cli.ExitUsage, "--out: "},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, errs := vernier(t, c.args...)
			if code != c.code || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, want %d with %q; it says\n%s", code, c.code, c.says, errs)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(existing, "thesis.txt")); err != nil || string(text) != "precious" {
		t.Errorf("a file that is no run's was touched: %v", err)
	}
}

func TestDoctorNamesKernelsCoresMemoryAndGPU(t *testing.T) {
	code, out, errs := vernier(t, "doctor")
	if code != cli.ExitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, word := range []string{"cores", "cpu", "kernels", "memory", "gpu"} {
		if !strings.Contains(out, "\n"+word) {
			t.Errorf("doctor says nothing of %s:\n%s", word, out)
		}
	}
}

func TestDataCheckListsEveryBadFileAndFails(t *testing.T) {
	data := clitest.Stripes(t, 3, 3)
	for name, text := range map[string]string{"text.jpg": "not an image", "empty.png": ""} {
		if err := os.WriteFile(filepath.Join(data, "class 01", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := vernier(t, "data", "check", "folder:"+data)
	if code != cli.ExitFailed || !strings.Contains(out, "text.jpg") || !strings.Contains(out, "empty.png") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ = vernier(t, "data", "check", "folder:"+data, "--json")
	var report struct {
		Bad []struct{ Path string } `json:"bad"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitFailed || len(report.Bad) != 2 {
		t.Errorf("--json: exit %d, %v\n%s", code, err, out)
	}
	if code, out, _ = vernier(t, "data", "check", "folder:"+clitest.Stripes(t, 4, 3)); code != cli.ExitDone || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("a sound set: exit %d\n%s", code, out)
	}
}

// An unreadable image of the test classes is met after the training.
func TestAnUnreadableTestImageCostsNoTraining(t *testing.T) {
	data, out := clitest.Stripes(t, 8, 8), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(filepath.Join(data, "class 07", "3.png"), []byte("\x89PNG\r\n\x1a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := vernier(t, quick(data, out)...)
	if code != cli.ExitFailed || !strings.Contains(errs, "3.png") || !strings.Contains(errs, "the model is trained and saved") || !strings.Contains(errs, "--max-bad N") || !strings.Contains(errs, "vernier train --resume "+out) {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	code, table, errs := vernier(t, "train", "--resume", out, "--max-bad", "1")
	if code != cli.ExitDone || !strings.Contains(table, "before training") {
		t.Errorf("resumed: exit %d\n%s%s", code, errs, table)
	}
}

// TestAnInterruptedRunGoesOnAsIfNothingHadHappened stops a run in the middle of
// an epoch as Ctrl-C does, resumes it, and compares the models with those of a
// execute that was left alone.
func TestAnInterruptedRunGoesOnAsIfNothingHadHappened(t *testing.T) {
	interrupt(t, "--loss", "proxy-anchor")
}

// interrupt is that test for a run with the given flags.
func interrupt(t *testing.T, more ...string) {
	t.Helper()
	data := clitest.Stripes(t, 10, 8)
	dir := t.TempDir()
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	more = append([]string{"--epochs", "4"}, more...)
	if code, _, errs := vernier(t, quick(data, whole, more...)...); code != cli.ExitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		// The log grows with every step.
		for {
			if text, _ := os.ReadFile(filepath.Join(broken, "log.jsonl")); bytes.Count(text, []byte("\n")) >= 3 {
				cancel(&cli.SignalError{Signal: syscall.SIGINT})
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, _, errs := vernierIn(t, ctx, quick(data, broken, more...)...)
	if code != 130 || !strings.Contains(errs, "vernier train --resume "+broken) {
		t.Fatalf("interrupted: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "train", "--resume", broken, "--dim", "8", "--epochs", "5"); code != cli.ExitUsage || !strings.Contains(errs, "epochs: 4 stored, 5 given") || strings.Contains(errs, "dim") {
		t.Fatalf("resumed with other settings: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "train", "--resume", broken, "--threads", "1", "--workers", "1"); code != cli.ExitDone {
		t.Fatalf("resumed: exit %d\n%s", code, errs)
	}
	for _, f := range []string{"last.safetensors", "best.safetensors", "history.csv", "results.json"} {
		a, err := os.ReadFile(filepath.Join(whole, f))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(broken, f))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between the run that was interrupted and the one that was not", f)
		}
	}
}

func TestADivergingRunNamesStepAndNodeAndKeepsTheLastGoodModel(t *testing.T) {
	data := clitest.Stripes(t, 8, 8)
	run := filepath.Join(t.TempDir(), "run")
	// Squared distances of unnormalized embeddings overflow after one huge step.
	code, _, errs := vernier(t, quick(data, run, "--rate", "1e20", "--metric", "sqeuclidean", "--normalization", "none", "--optimizer", "sgd", "--loss", "contrastive")...)
	if code != cli.ExitFailed || !strings.Contains(errs, "step ") || !strings.Contains(errs, "node ") {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if code, out, errs := vernier(t, "embed", run, filepath.Join(data, "class 00"), "--epoch", "last"); code != cli.ExitDone || strings.Contains(out, "NaN") {
		t.Errorf("the kept model: exit %d\n%s\n%s", code, out, errs)
	}
}

func TestProgram(t *testing.T) {
	p := program()
	clitest.Program{
		Execute: p.Execute, Root: p.Command(logrus.New()), Limits: slices.Collect(maps.Keys(p.Limits)),
		Unchecked: []string{"threshold"}, // whether there are negative ones is the model's to say
	}.Check(t)
}
