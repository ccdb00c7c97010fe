package layers_test

import (
	"os"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
	"github.com/vernier-ml/vernier/internal/golden"
)

// TestGoldenLayers builds each case as a graph, runs it forward and back, and
// compares the output, every gradient and the running statistics.
func TestGoldenLayers(t *testing.T) {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	golden.WalkFS(t, os.DirFS("../internal/enginetest/testdata/golden"), "layers", func(t *testing.T, c *golden.Case) {
		enginetest.GoldenGraph(t, eng, c, golden.Rel32)
	})
}

func read(t testing.TB, eng engine.Engine, v engine.Tensor) []float32 {
	t.Helper()
	if v == nil {
		t.Fatal("the tensor does not exist")
	}
	out := make([]float32, v.Size())
	if err := eng.Read(out, v); err != nil {
		t.Fatal(err)
	}
	return out
}
