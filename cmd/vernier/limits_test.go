package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachFlag calls do for every flag of every command, with the words that lead to
// the command.
func eachFlag(cmd *cobra.Command, do func(path []string, f *pflag.Flag)) {
	path := strings.Fields(cmd.CommandPath())[1:]
	cmd.Flags().VisitAll(func(f *pflag.Flag) { do(path, f) })
	for _, c := range cmd.Commands() {
		eachFlag(c, do)
	}
}

// refusal runs a command with one flag and checks that it is refused as wrong usage,
// by the flag's name and in words.
func refusal(t *testing.T, path []string, name, value, says string) {
	t.Helper()
	args := append(append([]string{}, path...), "--"+name+"="+value)
	code, _, errs := vernier(t, args...)
	if code != exitUsage || !strings.HasPrefix(errs, "vernier: --"+name) || !strings.Contains(errs, says) || strings.Contains(errs, "strconv") || strings.Contains(errs, "pars") {
		t.Errorf("%v: exit %d, want %d with the flag's name and %q; it says\n%s", args, code, exitUsage, says, errs)
	}
}

func TestEveryNumberIsCheckedWhileTheCommandLineIsRead(t *testing.T) {
	seen := 0
	eachFlag(newRoot(logrus.New()), func(path []string, f *pflag.Flag) {
		kind := f.Value.Type()
		if _, ok := typeWords[kind]; !ok {
			return
		}
		seen++
		refusal(t, path, f.Name, "x", "want "+typeWords[kind])
		switch {
		case strings.HasPrefix(kind, "float64"):
			for _, value := range []string{"NaN", "Inf"} {
				refusal(t, path, f.Name, value, "want")
			}
		case kind == "bool", kind == "duration":
			return
		}
		if f.Name == "threshold" { // whether there are negative ones is the model's to say
			return
		}
		refusal(t, path, f.Name, "-1", "")
	})
	if seen < 150 {
		t.Errorf("%d flags were seen", seen)
	}
}

func TestEveryLimitIsThatOfAFlag(t *testing.T) {
	all := flagLimits()
	eachFlag(newRoot(logrus.New()), func(path []string, f *pflag.Flag) {
		delete(all, "--"+f.Name)
		delete(all, strings.Join(path, " ")+" --"+f.Name)
	})
	for name := range all {
		t.Errorf("no command has %s", name)
	}
}

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
		{"reproduce drml-ablation", "rates", "1,0", "above 0"},
	} {
		code, _, errs := vernier(t, append(strings.Fields(c.command), "--"+c.flag+"="+c.value)...)
		if code != exitUsage || !strings.HasPrefix(errs, "vernier: --"+c.flag) || !strings.Contains(errs, c.says) {
			t.Errorf("%s --%s=%s: exit %d, want %d with %q; it says\n%s", c.command, c.flag, c.value, code, exitUsage, c.says, errs)
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
		"--memory: memory of -1 embeddings":              {"--memory", "-1"},
		"--schedule: schedule step needs gamma":          {"--schedule", "step"},
		"--loss-param margin: loss contrastive on brm: ": {"--loss", "contrastive", "--loss-param", "margin=-1"},
	} {
		code, _, errs := vernier(t, append([]string{"train", "--out", "never"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", args, code, exitUsage, says, errs)
		}
	}
}
