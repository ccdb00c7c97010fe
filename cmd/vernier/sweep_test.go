package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// sweepFile writes a sweep of two metrics and two seeds.
func sweepFile(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweep.yaml")
	text := `
base:
  data: {spec: "folder:` + data + `", augment: none, validation: 0.3}
  model: {dim: 8, input: {size: 16}}
  epochs: 1
  classes_per_batch: 3
  images_per_class: 4
grid: {model.metric: [cosine, brm]}
seeds: 2
restarts: 1
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASweepMakesRunsAndATableAndCompareMakesTheSameTable(t *testing.T) {
	file, out := sweepFile(t, clitest.Stripes(t, 10, 6)), filepath.Join(t.TempDir(), "runs")
	args := []string{"sweep", file, "--out", out, "--jobs", "2", "--cache", t.TempDir()}
	if code, list, stderr := vernier(t, append(args, "--list")...); code != cli.ExitDone || strings.Count(list, "to be made") != 4 {
		t.Fatalf("exit %d, list %q, %s", code, list, stderr)
	}
	code, table, stderr := vernier(t, args...)
	if code != cli.ExitDone || strings.Count(table, "\n") != 4 || !strings.Contains(table, "| brm | 2 |") {
		t.Fatalf("exit %d, table\n%s\n%s", code, table, stderr)
	}
	for _, name := range []string{"table.md", "table.csv", "table.json", "figure.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	code, again, stderr := vernier(t, "compare", out, "--plot", filepath.Join(out, "again.png"))
	for _, line := range strings.Split(table, "\n") { // the order is that of the folders
		if code != cli.ExitDone || !strings.Contains(again, line) {
			t.Errorf("exit %d, compare prints\n%s\nsweep\n%s\n%s", code, again, table, stderr)
		}
	}
	if code, list, _ := vernier(t, append(args, "--list")...); code != cli.ExitDone || strings.Count(list, "finished") != 4 {
		t.Errorf("list %q", list)
	}
}

func TestMistakesOfSweepAndCompare(t *testing.T) {
	file := sweepFile(t, clitest.Stripes(t, 10, 2))
	empty := t.TempDir()
	for says, args := range map[string][]string{
		"--out is missing":            {"sweep", file},
		"--jobs 0":                    {"sweep", file, "--out", "x", "--jobs", "0"},
		"--set \"epochs\"":            {"sweep", file, "--out", "x", "--set", "epochs"},
		"did you mean epochs":         {"sweep", file, "--out", "x", "--set", "epoch=3", "--list"},
		"--format \"html\"":           {"sweep", file, "--out", "x", "--format", "html"},
		"no run has a figure \"f2\"":  {"sweep", file, "--out", "x", "--figure", "f2", "--list"},
		"no group has the baseline's": {"sweep", file, "--out", "x", "--baseline", "model.metric=snr", "--list"},
		"no such file":                {"sweep", "none.yaml", "--out", "x"},
		"RUN is missing":              {"compare"},
		"holds none":                  {"compare", empty},
		"--level 2":                   {"compare", empty, "--level", "2"},
		"--baseline \"brm\" is not":   {"compare", empty, "--baseline", "brm"},
	} {
		if code, _, stderr := vernier(t, args...); code == cli.ExitDone || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d, want %q in %s", args, code, says, stderr)
		}
	}
}

func TestCompareNamesTheOptionThatNamesNothing(t *testing.T) {
	file, out := sweepFile(t, clitest.Stripes(t, 10, 4)), filepath.Join(t.TempDir(), "runs")
	if code, _, stderr := vernier(t, "sweep", file, "--out", out, "--set", "run.save_every=0s", "--cache", t.TempDir()); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	for says, args := range map[string][]string{
		`--figure: no run has a figure "recall@3"`:                                                      {"--figure", "recall@3"},
		`"recal@4"; did you mean recall@4?`:                                                             {"--figure", "recal@4", "--format", "csv"},
		"--baseline: no group has the baseline's settings model.metrik=brm; did you mean model.metric?": {"--baseline", "model.metrik=brm"},
	} {
		if code, _, stderr := vernier(t, append([]string{"compare", out}, args...)...); code != cli.ExitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d, want %q in %s", args, code, says, stderr)
		}
	}
}

func TestASweepThatCannotBeMadeSaysWhyBeforehand(t *testing.T) {
	data := clitest.Stripes(t, 10, 4)
	file := sweepFile(t, data)
	folds := filepath.Join(t.TempDir(), "folds.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(folds, append(text, "folds: 3\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"--out: folder " + file + " cannot be made": {file, "--out", file},
		"folder /proc/zz cannot be made":            {file, "--out", "/proc/zz"},
		"3 folds need 6 classes":                    {folds, "--out", filepath.Join(t.TempDir(), "x")},
		"there is no such folder":                   {file, "--out", filepath.Join(t.TempDir(), "x"), "--data", "folder:" + data + "x"},
		"none.yaml: there is no such file":          {"none.yaml", "--out", "x"},
	} {
		code, _, stderr := vernier(t, append([]string{"sweep"}, args...)...)
		if code != cli.ExitUsage || strings.Count(stderr, says) != 1 || strings.Contains(stderr, "again") {
			t.Errorf("%v: exit %d, want %q in %s", args, code, says, stderr)
		}
	}
}

func TestCorruptionOnTheCommandLine(t *testing.T) {
	data := clitest.Stripes(t, 10, 6)
	code, out, stderr := vernier(t, "train", "--data", "folder:"+data, "--corrupt", "impulse=0.1,labels=0.2", "--print-config")
	if code != cli.ExitDone || !strings.Contains(out, "train: impulse=0.1,labels=0.2\n") || !strings.Contains(out, "test: impulse=0.1\n") {
		t.Errorf("exit %d, %s\n%s", code, out, stderr)
	}
	for says, args := range map[string][]string{
		"cannot be wrong": {"--corrupt-test", "labels=0.1"}, "impulse": {"--corrupt", "noise=0.1"}, "not within": {"--corrupt", "impulse=7"}, "want shares": {"--corrupt", "impulse"},
		"either it": {"--corrupt", "impulse=0.1", "--corrupt-test", "impulse=0.1"}, "twice": {"--corrupt-train", "labels=0.1,labels=0.2"},
	} {
		args = append(quick(data, filepath.Join(t.TempDir(), "run")), args...)
		if code, _, stderr := vernier(t, args...); code != cli.ExitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d, want %q in %s", args, code, says, stderr)
		}
	}
}

func TestALongerRunBeginsFromTheNetworkOfAShorterOne(t *testing.T) {
	data, dir := clitest.Stripes(t, 10, 4), t.TempDir()
	first, longer, longest := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if code, _, stderr := vernier(t, append(quick(data, first), "--loss", "proxy-anchor")...); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	code, _, stderr := vernier(t, "train", "--resume", first, "--epochs", "9")
	if want := "--config " + first + "/config.json --weights " + first + "/last.safetensors"; code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, want %q in %s", code, want, stderr)
	}
	for _, step := range [][2]string{{first, longer}, {longer, longest}} {
		code, _, stderr := vernier(t, "train", "--config", step[0]+"/config.json", "--weights", step[0]+"/last.safetensors", "--epochs", "1", "--out", step[1])
		if code != cli.ExitDone || !strings.Contains(stderr, "0 ignored, 0 parameters of the head drawn") {
			t.Errorf("%v: exit %d, %s", step, code, stderr)
		}
	}
}

func TestSweepsTakeADevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	if err := os.WriteFile(file, []byte("base: {data: {spec: 'folder:"+clitest.Stripes(t, 6, 4)+"'}, epochs: 1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"sweep", file, "--out", t.TempDir()},
	} {
		if code, _, errs := vernier(t, append(args, "--device", "gpu")...); code != cli.ExitUsage || !strings.Contains(errs, "--device") {
			t.Errorf("%s: exit %d: %s", args[0], code, errs)
		}
		if code, _, errs := vernier(t, append(args, "--device", "cuda:99")...); code == cli.ExitDone || !strings.Contains(errs, "--device cuda:99: ") {
			t.Errorf("%s: exit %d: %s", args[0], code, errs)
		}
	}
}
