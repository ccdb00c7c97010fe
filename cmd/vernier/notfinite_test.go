package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/weights"
)

// changeWeights rewrites a file of a run with other numbers in its first tensor of
// the network, whose name it returns.
func changeWeights(t *testing.T, path string, change func(v []float32)) (name string) {
	t.Helper()
	f, err := weights.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []*weights.Tensor
	for _, x := range f.Tensors() {
		if name == "" && strings.HasSuffix(x.Name, ".weight") && len(x.Shape) == 4 && !strings.Contains(x.Name, "/") {
			name = x.Name
			values, err := x.Float32()
			if err != nil {
				t.Fatal(err)
			}
			change(values)
			if x, err = weights.FromFloat32(name, x.Shape, values); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, x)
	}
	meta := map[string]string{}
	for k, v := range f.Metadata() {
		if k != weights.ChecksumKey {
			meta[k] = v
		}
	}
	if err := weights.WriteChecked(path, list, meta); err != nil {
		t.Fatal(err)
	}
	return name
}

// copyRun copies the files of a run's folder.
func copyRun(t *testing.T, run string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(to, os.DirFS(run)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestNumbersThatAreNotFiniteAreErrorsEverywhere(t *testing.T) {
	whole, images := trained(t)
	run := copyRun(t, whole)
	nan := func(v []float32) { v[len(v)/2] = float32(math.NaN()) }
	best := filepath.Join(run, "best.safetensors")
	name := changeWeights(t, best, nan)
	changeWeights(t, filepath.Join(run, "checkpoint.safetensors"), nan)
	image := filepath.Join(images, "class 00", "1.png")
	out := func(name string) string { return filepath.Join(t.TempDir(), name) }
	for _, args := range [][]string{
		{"embed", run, image}, {"verify", run, image, image}, {"index", run, image, "--out", out("x.idx")}, {"eval", run},
		{"search", run, image, "--data", "folder:" + images},
		{"export", run, "--out", out("export")}, {"export", run, "--format", "onnx", "--out", out("onnx")}, {"report", run, "--out", out("x.html")}, {"serve", run, "--listen", "127.0.0.1:0"},
		slices.Concat(quick(images, out("new")), []string{"--weights", best}), {"train", "--resume", run}, {"weights", "check", best, "--backbone", "convnet"},
	} {
		code, _, errs := vernier(t, args...)
		if code != cli.ExitFailed || !strings.Contains(errs, `tensor "`+name+`" holds NaN`) {
			t.Errorf("%s: exit %d\n%s", strings.Join(args, " "), code, errs)
		}
	}

	// Weights that are finite and too large: embeddings overflow.
	run = copyRun(t, whole)
	changeWeights(t, filepath.Join(run, "best.safetensors"), func(v []float32) {
		for i := range v {
			v[i] = math.MaxFloat32 / 2
		}
	})
	for _, args := range [][]string{{"embed", run, image}, {"verify", run, image, image, "--threshold", "1"}, {"eval", run}, {"export", run, "--out", filepath.Join(t.TempDir(), "x")}} {
		code, out, errs := vernier(t, args...)
		if code != cli.ExitFailed || !strings.Contains(errs, "the embedding of ") || !strings.Contains(errs, ".png holds ") || strings.Contains(out, "NaN") {
			t.Errorf("%s: exit %d\n%s\n%s", strings.Join(args, " "), code, out, errs)
		}
	}
}
