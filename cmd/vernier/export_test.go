package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

func TestONNXIsExportedWithoutTheImages(t *testing.T) {
	data := clitest.Stripes(t, 10, 4)
	run := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(data, run, "--epochs", "1")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "onnx")
	killed := filepath.Join(out, ".export-1234567890123456789") // what a killed export left
	if err := os.MkdirAll(killed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed, "network.onnx"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := vernier(t, "export", run, "--format", "onnx", "--onnx-preprocess", "--onnx-metric", "--out", out)
	if code != cli.ExitDone || !strings.Contains(errs, "network.onnx, metric.onnx") {
		t.Fatalf("export: exit %d\n%s", code, errs)
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("what a killed export left is still there")
	}
	other := t.TempDir()
	held, err := wholefile.NewFolder(other, exportStage)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Remove()
	if code, _, errs := vernier(t, "export", run, "--format", "onnx", "--out", other); code != cli.ExitFailed || !strings.Contains(errs, "another vernier is exporting into folder "+other) {
		t.Errorf("export beside another: exit %d\n%s", code, errs)
	}
	for name, words := range map[string][]string{
		"network.onnx": {"images", "embeddings", "block1.conv.weight", "embedding.bias", "vernier.preprocessing", `"size":16`, "uint8 RGB in 0..255", "vernier.epoch"},
		"metric.onnx":  {"distances", "Scan", "vernier.metric", "brm"},
	} {
		file, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words {
			if !bytes.Contains(file, []byte(word)) {
				t.Errorf("%s does not hold %q", name, word)
			}
		}
	}
}

func TestONNXOptionsAreChecked(t *testing.T) {
	for want, args := range map[string][]string{
		"--onnx-metric needs --format onnx":     {"--onnx-metric"},
		"--onnx-preprocess needs --format onnx": {"--onnx-preprocess", "--format", "csv"},
		"there is uint8, float":                 {"--onnx-preprocess=png", "--format", "onnx"},
		`"tflite"`:                              {"--format", "onnx,tflite"},
	} {
		if code, _, errs := vernier(t, append([]string{"export", "missing"}, args...)...); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", args, code, cli.ExitUsage, want, errs)
		}
	}
}

// Files of an export that fails do not stand beside those of an earlier one.
func TestAnExportThatFailsReplacesNothing(t *testing.T) {
	run, _ := trained(t)
	out := t.TempDir()
	old := filepath.Join(out, "embeddings.npy")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(out, "network.onnx"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, errs := vernier(t, "export", run, "--out", out, "--force", "--format", "npy,onnx")
	if code != cli.ExitFailed || !strings.Contains(errs, "network.onnx is not a regular file") || strings.Contains(errs, "wrote") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
		t.Errorf("embeddings.npy was replaced (%v)", err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 2 {
		t.Errorf("%v was left (%v)", entries, err)
	}
	if err := os.Remove(filepath.Join(out, "network.onnx")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := vernier(t, "export", run, "--out", out, "--force", "--format", "npy,onnx"); code != cli.ExitDone || !strings.Contains(errs, "wrote network.onnx to "+out) {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) == "old" {
		t.Errorf("embeddings.npy is the old one (%v)", err)
	}
}
