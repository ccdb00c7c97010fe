package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// onnxruntime computes of an exported head what embed writes.
func TestExportedHeadsInPython(t *testing.T) {
	x, table := seenByCameras(t)
	p := withNumPy(t)
	p.needs(t, "onnxruntime")
	for name, head := range map[string][]string{
		"linear": {"--head", "linear"}, "mlp": {"--head", "mlp:8,6", "--head-norm", "layer", "--dropout", "0.2"}, "residual": {"--head", "residual:8", "--input-norm", "coordinates"},
	} {
		for _, args := range [][]string{
			append([]string{"train", "--data", "features:" + x, "--labels", table, "--out", name, "--dim", "3", "--epochs", "2", "--validation", "0", "--classes-per-batch", "3", "--images-per-class", "4"}, head...),
			{"embed", name, x, "--out", name + ".npy"},
			{"export", name, "--format", "onnx", "--out", name + "-onnx"},
		} {
			if code, _, errs := vernier(t, args...); code != cli.ExitDone {
				t.Fatalf("%v: exit %d\n%s", args, code, errs)
			}
		}
		said := p.run(t, `
import numpy, onnxruntime
x, want = numpy.load("`+filepath.ToSlash(x)+`"), numpy.load("`+name+`.npy")
got, = onnxruntime.InferenceSession("`+name+`-onnx/network.onnx").run(["embeddings"], {"features": x.astype(numpy.float32)})
assert got.shape == want.shape, (got.shape, want.shape)
print(abs(got - want).max() / abs(want).max())`)
		if off, err := strconv.ParseFloat(strings.TrimSpace(said), 64); err != nil || !(off <= 1e-5) {
			t.Errorf("%s: onnxruntime is off by %s of the largest number: %v", name, said, err)
		}
	}
}
