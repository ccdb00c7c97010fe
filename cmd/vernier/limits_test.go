package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

func TestValuesOfFlagsAreRefused(t *testing.T) {
	for _, c := range []struct{ command, flag, value, says string }{
		{"serve", "listen", ":99999", "port from 0 to 65535"},
		{"serve", "listen", "8321", "ADDRESS:PORT"},
		{"linear compare", "train-share", "1.5", "1.5: want a number between 0 and 1"},
		{"linear compare", "noise", "foo", `"foo": there is gaussian, impulse`},
		{"linear compare", "trials", "1e3", "want a whole number"},
		{"train", "epochs", "99999999999999999999", "must be at most 1000000"},
		{"train", "memory", "1000000000000", "1000000000000: must be at most 16777216"},
		{"train", "save-every", "9999999h", `"9999999h": must be at most 2562047h`},
		{"train", "save-every", "9999999", "want a time with its unit"},
		{"train", "memory-limit", "99999999999999GiB", "must be at most 4194304TiB"},
		{"train", "memory-limit", "1e400", "must be at most 4194304TiB"},
		{"train", "milestones", "5,99999999999999999999", "must be at most 1000000000"},
		{"train", "seed", "99999999999999999999", "must be at most 18446744073709551615"},
		{"train", "max-pixels", "0", "must be at least 1"},
		{"train", "max-pixels", "9223372036854775807", "must be at most 4294967296"},
		{"eval", "size", "99999999999999999999", "must be at most 4096"},
		{"eval", "k", "1,1000000000", "must be at most 1000000"},
		{"eval", "k", "99999999999999999999", "must be at most 1000000"},
		{"eval", "k", strings.TrimSuffix(strings.Repeat("7,", 500), ","), "7 is there twice"},
		{"bench", "batch", "65537", "must be at most 65536"},
		{"eval", "threads", "99999999999999999999", "want 0 to 1024"},
		{"train", "epochs", "0", "epochs is 0, must be at least 1"},
		{"train", "save-every", "10", "such as 10m"},
		{"train", "save-every", "-10m", "want a time"},
		{"train", "validation", "1.5", "validation share 1.5"},
		{"train", "batch-size", "64", "random sampler"},
		{"train", "device", "cuda:x", "cuda:N"},
		{"eval", "k", "1,x", "whole numbers from 1 on"},
		{"eval", "ties", "kind", "pessimistic"},
		{"verify", "roc", "roc.jpg", "ends in .png"},
		{"compare", "plot", "figure", "ends in .png"},
		{"compare", "plot", "none/figure.png", "there is no folder none"},
		{"embed", "out", "none/rows.csv", "there is no folder none"},
		{"linear transform", "out", "mapped.parquet", "ends in .csv"},
		{"linear fit", "out", "model.onnx", "ends in .json"},
		{"serve", "marks", "none/marks", "there is no folder none"},
		{"verify", "calibrate-on", "devel", "a file of pairs, which this is not"},
		{"report", "out", "page.pdf", "ends in .html or .htm"},
		{"export", "format", "npy,xls", `"xls" is unknown; there is safetensors`},
		{"export", "format", "npy,npy", "npy is given twice"},
	} {
		code, _, errs := vernier(t, append(strings.Fields(c.command), "--"+c.flag+"="+c.value)...)
		if code != cli.ExitUsage || !strings.HasPrefix(errs, "vernier: --"+c.flag) || !strings.Contains(errs, c.says) {
			t.Errorf("%s --%s=%s: exit %d, want %d with %q; it says\n%s", c.command, c.flag, c.value, code, cli.ExitUsage, c.says, errs)
		}
	}
}

// A setting of train is named as it was given, wherever it stands.
func TestWrongSettingsAreNamedByTheirSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("data: {spec: glyphs}\nclasses_per_batch: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		file + ":2: classes_per_batch is 1":              {"--config", file},
		"--set run.keep: checkpoints of the last 0":      {"--set", "run.keep=0"},
		"--epochs, --warmup-epochs: 5 of 3 epochs":       {"--epochs", "3", "--warmup-epochs", "5"},
		"--rate: optimizer rate -1 is not within":        {"--rate", "-1", "--epochs", "3"},
		"--set ema: the decay of the average of weights": {"--set", "ema=1"},
		"--lora: LoRA of rank 8 changes the attention":   {"--lora", "8"},
		"--lora-alpha: alpha 16 of LoRA needs a rank":    {"--lora-alpha", "16", "--backbone", "vits16"},
		"--memory: memory of -1 embeddings":              {"--memory", "-1"},
		"--schedule: schedule step needs gamma":          {"--schedule", "step"},
		"--loss-param margin: loss contrastive on brm: ": {"--loss", "contrastive", "--loss-param", "margin=-1"},
	} {
		code, _, errs := vernier(t, append([]string{"train", "--out", "never"}, args...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", args, code, cli.ExitUsage, says, errs)
		}
	}
}

// A name that is empty, as of a variable that is not set, is not a flag left out.
func TestEmptyNamesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"search", "run", "--gallery", ""}, {"serve", "run", "--marks", ""}, {"train", "--data", ""}, {"train", "--data", "glyphs", "--out="},
		{"train", "--resume", ""}, {"train", "--config="}, {"train", "--weights", ""}, {"eval", "run", "--data", ""}, {"eval", "run", "--cache", ""},
		{"eval", "run", "--super-classes", ""}, {"index", "run", "--from", ""}, {"index", "--check", ""}, {"verify", "run", "--pairs", ""},
		{"linear", "compare", "table", "--markdown", ""}, {"linear", "eval", "model", "table", "--train", ""}, {"embed", "run", "--out", ""}, {"data", "get", "cub200", "--dir", ""}, {"bench", "gemm", "--trace", ""},
	} {
		code, out, errs := vernier(t, args...)
		if code != cli.ExitUsage || !strings.Contains(errs, `"": the name is empty: name a file, folder or data set, or leave the flag out`) {
			t.Errorf("%q: exit %d\n%s\n%s", args, code, out, errs)
		}
	}
}
