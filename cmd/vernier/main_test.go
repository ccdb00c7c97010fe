package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
)

// vernier runs a command line and returns exit code, output and messages.
func vernier(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return vernierIn(t, context.Background(), args...)
}

func vernierIn(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// stripes writes a folder of classes that a network can learn: stripes of one
// width and direction each, with noise and at any phase.
func stripes(t *testing.T, classes, images int) string {
	t.Helper()
	root := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for c := range classes {
		dir := filepath.Join(root, fmt.Sprintf("class %02d", c))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range images {
			img := image.NewGray(image.Rect(0, 0, 16, 16))
			phase := r.IntN(16)
			for y := range 16 {
				for x := range 16 {
					along := x
					if c%2 == 1 {
						along = y
					}
					v := 60 + r.IntN(40)
					if (along+phase)/(1+c/2)%2 == 0 {
						v += 120
					}
					img.SetGray(x, y, color.Gray{Y: uint8(v)})
				}
			}
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, img); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// quick are flags for a run of about a second.
func quick(data, out string, more ...string) []string {
	return append([]string{"train", "--data", "folder:" + data, "--out", out, "--size", "16", "--epochs", "2", "--dim", "8",
		"--classes-per-batch", "3", "--images-per-class", "4", "--augment", "none", "--validation", "0.3"}, more...)
}

func TestTrainEvalEmbedExport(t *testing.T) {
	data := stripes(t, 12, 8)
	run := filepath.Join(t.TempDir(), "run")
	if code, out, errs := vernier(t, quick(data, run, "--epochs", "12", "--rate", "0.003")...); code != exitDone || !strings.Contains(out, "raw pixels") {
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
	if code != exitDone {
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
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != exitDone || len(lines) != 1+1+8 || !strings.HasPrefix(lines[0], "path,e0,") || !strings.HasPrefix(lines[1], one+",") {
		t.Errorf("embed: exit %d\n%s\n%s", code, out, errs)
	}
	code, out, errs = vernier(t, "export", run, "--json")
	var exported exportReport
	if err := json.Unmarshal([]byte(out), &exported); err != nil || code != exitDone || exported.Rows != 48 || exported.Dim != 8 || len(exported.Files) != 12 {
		t.Errorf("export: exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	for _, f := range []string{"model.safetensors", "embeddings.safetensors", "embeddings.npy", "labels.npy", "paths.npy", "network.npz", "embeddings.npz", "embeddings.csv", "embeddings.parquet", "classes.csv", "metric.json", "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(run, "export", f)); err != nil {
			t.Errorf("export: %v", err)
		}
	}
	if code, _, errs = vernier(t, "export", run); code != exitFailed || !strings.Contains(errs, "--force") {
		t.Errorf("export over an export: exit %d\n%s", code, errs)
	}
}

func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	existing := t.TempDir()
	if err := os.WriteFile(filepath.Join(existing, "thesis.txt"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	images := stripes(t, 16, 2)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitDone, ""},
		{[]string{"version"}, exitDone, ""},
		{[]string{"data", "list"}, exitDone, ""},
		{[]string{"trian"}, exitUsage, "did you mean train"},
		{[]string{"data", "chek"}, exitUsage, "did you mean check"},
		{[]string{"train"}, exitUsage, "--data"},
		{[]string{"train", "--data", "glyphs"}, exitUsage, "--out"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--metric", "manhattan"}, exitUsage, "euclidean"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--metric", "brm:relu"}, exitUsage, "softsign"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss", "hinge"}, exitUsage, "proxy-anchor"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss-param", "margin"}, exitUsage, "name=value"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--loss-param", "margn=1"}, exitUsage, "temperature"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--backbone", "resnet"}, exitUsage, "convnet"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--pool", "sum"}, exitUsage, "avg+max"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--optimizer", "lion"}, exitUsage, "adamw"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--schedule", "linear"}, exitUsage, "cosine"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--augment", "mixup"}, exitUsage, "characters"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--rate", "-1"}, exitUsage, "rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--rate", "fast"}, exitUsage, "rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--epochs", "0"}, exitUsage, "epochs"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--train-classes", "1.5"}, exitUsage, "fraction"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--size", "-3"}, exitUsage, "size"},
		{[]string{"train", "--data", "glyphs", "--out", existing}, exitUsage, "--force"},
		{[]string{"train", "--data", "glyphs", "--out", existing, "--force"}, exitUsage, "holds no run"},
		{[]string{"train", "--data", "folder:" + missing, "--out", missing + "2"}, exitFailed, "missing"},
		{[]string{"train", "--resume", missing}, exitFailed, "there is no folder"},
		{[]string{"train", "--resume", existing}, exitFailed, "not a run folder"},
		{[]string{"train", "--resume", missing, "--out", "runs/a"}, exitUsage, "--out"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--set", "optimizer.rat=3"}, exitUsage, "did you mean optimizer.rate"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--set", "epochs"}, exitUsage, "KEY=VALUE"},
		{[]string{"train", "--data", "glyphs", "--out", missing, "--config", missing}, exitUsage, "--config"},
		{[]string{"eval"}, exitUsage, "RUN is missing"},
		{[]string{"eval", missing}, exitFailed, "there is no folder"},
		{[]string{"eval", missing, "--k", "0"}, exitUsage, "--k"},
		{[]string{"eval", missing, "--split", "dev"}, exitUsage, "validation"},
		{[]string{"eval", missing, "--ties", "kind"}, exitUsage, "pessimistic"},
		{[]string{"eval", "a", "b"}, exitUsage, "unexpected"},
		{[]string{"embed", missing}, exitUsage, "IMAGE is missing"},
		{[]string{"export", missing, "--format", "onnx2"}, exitUsage, "safetensors"},
		{[]string{"data", "check"}, exitUsage, "SPEC is missing"},
		{[]string{"data", "check", "birds"}, exitUsage, "folder:PATH"},
		{[]string{"--nonsense"}, exitUsage, "nonsense"},
		{[]string{"train", "--epochz", "3"}, exitUsage, "unknown flag: --epochz; did you mean --epochs?"},
		{[]string{"train", "--optimiser", "adam"}, exitUsage, "did you mean --optimizer?"},
		{[]string{"eval", missing, "--splt", "test"}, exitUsage, "did you mean --split?"},
		{[]string{"train", "--data", "glyhps", "--out", missing}, exitUsage, "did you mean glyphs?"},
		{[]string{"train", "--data", "foldr:" + images, "--out", missing}, exitUsage, "did you mean folder:" + images + "?"},
		{[]string{"train", "--data", images, "--out", missing}, exitUsage, "did you mean folder:" + images + "?"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--train-classes", "16"}, exitUsage, "--train-classes: folder:" + images + ": 16 of its 16 classes"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--freeze", "xx.*"}, exitUsage, `--freeze: no parameter has a name like "xx.*"`},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--freeze", "*"}, exitUsage, "--freeze: there is nothing to train"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--classes-per-batch", "4", "--images-per-class", "4", "--micro-batch", "5"}, exitUsage, "--micro-batch: micro-batches of 5 images do not fill"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--classes-per-batch", "4", "--images-per-class", "4", "--micro-batch", "1"}, exitUsage, "--micro-batch: a micro-batch of one image has no statistics"},
		{[]string{"train", "--data", "folder:" + images, "--out", missing, "--schedule", "multistep", "--gamma", "0.1", "--milestones", "5,3"}, exitUsage, "--milestones, --schedule: schedule: milestones [5 3]"},
		{[]string{"train", "--resume", missing, "--from", "bset"}, exitUsage, `--from "bset": want latest, best, or the number of a kept epoch, from 1 on; did you mean best?`},
		{[]string{"train", "--resume", missing, "--from", "0"}, exitUsage, "--from 0: want latest"},
		{[]string{"train", "--data", "glyphs", "--out", filepath.Join(existing, "thesis.txt")}, exitUsage, "--out: "},
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

func TestEveryCommandExplainsItself(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
		path := c.CommandPath()
		if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, path) || c.Args == nil {
			t.Errorf("%s needs Short, Long, an Example of itself, and Args that refuse what it does not take", path)
		}
	}
	visit(newRoot(logrus.New()))
	for _, cmd := range []string{"", "train", "data", "data list", "doctor"} {
		code, out, _ := vernier(t, append(strings.Fields(cmd), "--help")...)
		if code != exitDone || !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:") {
			t.Errorf("vernier %s --help: exit %d\n%s", cmd, code, out)
		}
	}
}

func TestDoctorNamesKernelsCoresMemoryAndGPU(t *testing.T) {
	code, out, errs := vernier(t, "doctor")
	if code != exitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, word := range []string{"cores", "cpu", "kernels", "memory", "gpu"} {
		if !strings.Contains(out, "\n"+word) {
			t.Errorf("doctor says nothing of %s:\n%s", word, out)
		}
	}
}

func TestDataCheckListsEveryBadFileAndFails(t *testing.T) {
	data := stripes(t, 3, 3)
	for name, text := range map[string]string{"text.jpg": "not an image", "empty.png": ""} {
		if err := os.WriteFile(filepath.Join(data, "class 01", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := vernier(t, "data", "check", "folder:"+data)
	if code != exitFailed || !strings.Contains(out, "text.jpg") || !strings.Contains(out, "empty.png") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ = vernier(t, "data", "check", "folder:"+data, "--json")
	var report struct {
		Bad []struct{ Path string } `json:"bad"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFailed || len(report.Bad) != 2 {
		t.Errorf("--json: exit %d, %v\n%s", code, err, out)
	}
	if code, out, _ = vernier(t, "data", "check", "folder:"+stripes(t, 4, 3)); code != exitDone || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("a sound set: exit %d\n%s", code, out)
	}
}

// An unreadable image of the test classes is met after the training.
func TestAnUnreadableTestImageCostsNoTraining(t *testing.T) {
	data, out := stripes(t, 8, 8), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(filepath.Join(data, "class 07", "3.png"), []byte("\x89PNG\r\n\x1a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := vernier(t, quick(data, out)...)
	if code != exitFailed || !strings.Contains(errs, "3.png") || !strings.Contains(errs, "the model is trained and saved") || !strings.Contains(errs, "--max-bad N") || !strings.Contains(errs, "vernier train --resume "+out) {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	code, table, errs := vernier(t, "train", "--resume", out, "--max-bad", "1")
	if code != exitDone || !strings.Contains(table, "before training") {
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
	data := stripes(t, 10, 8)
	dir := t.TempDir()
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	more = append([]string{"--epochs", "4"}, more...)
	if code, _, errs := vernier(t, quick(data, whole, more...)...); code != exitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		// The log grows with every step.
		for {
			if text, _ := os.ReadFile(filepath.Join(broken, "log.jsonl")); bytes.Count(text, []byte("\n")) >= 3 {
				cancel(&signalError{syscall.SIGINT})
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, _, errs := vernierIn(t, ctx, quick(data, broken, more...)...)
	if code != 130 || !strings.Contains(errs, "vernier train --resume "+broken) {
		t.Fatalf("interrupted: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "train", "--resume", broken, "--dim", "8", "--epochs", "5"); code != exitUsage || !strings.Contains(errs, "epochs: 4 stored, 5 given") || strings.Contains(errs, "dim") {
		t.Fatalf("resumed with other settings: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "train", "--resume", broken, "--threads", "1", "--workers", "1"); code != exitDone {
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
	data := stripes(t, 8, 8)
	run := filepath.Join(t.TempDir(), "run")
	// Squared distances of unnormalised embeddings overflow after one huge step.
	code, _, errs := vernier(t, quick(data, run, "--rate", "1e20", "--metric", "sqeuclidean", "--normalization", "none", "--optimizer", "sgd", "--loss", "contrastive")...)
	if code != exitFailed || !strings.Contains(errs, "step ") || !strings.Contains(errs, "node ") {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if code, out, errs := vernier(t, "embed", run, filepath.Join(data, "class 00"), "--epoch", "last"); code != exitDone || strings.Contains(out, "NaN") {
		t.Errorf("the kept model: exit %d\n%s\n%s", code, out, errs)
	}
}
