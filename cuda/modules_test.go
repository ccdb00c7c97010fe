//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// A module that the driver refuses fails its own operations, each time with what the
// driver's compiler said; the others work.
func TestARefusedModuleFailsItsOwnOperations(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	log := errors.New("a PTX JIT compilation failed; the driver's compiler says: ptxas fatal : line 7")
	dev.Refuse = func(names []string) error {
		if slices.Contains(names, "max_pool_f32") {
			return log
		}
		return nil
	}
	x, y := filled(t, eng, 1, 1, 2, 2), filled(t, eng, 1, 1, 1, 1)
	for range 2 {
		err := eng.MaxPool(y, x, engine.SquarePool(2, 2, 0, false))
		if !errors.Is(err, log) || !strings.Contains(err.Error(), "module pool") || !strings.Contains(err.Error(), "line 7") {
			t.Errorf("a kernel of a refused module: %v", err)
		}
	}
	if err := eng.Scale(x, x, 3); err != nil {
		t.Fatalf("a kernel of another module: %v", err)
	}
	got := make([]float32, 4)
	if err := eng.Read(got, x); err != nil || !slices.Equal(got, []float32{3, 6, 9, 12}) {
		t.Errorf("%v, %v, want 3 6 9 12", got, err)
	}
	if n := dev.Calls["Load"]; n != 2 {
		t.Errorf("%d modules were loaded, want the two that were asked for, once each", n)
	}
}

// filled is a tensor of 1, 2, 3 ...
func filled(t *testing.T, eng *Engine, shape ...int) engine.Tensor {
	t.Helper()
	x, err := eng.New(shape...)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, x.Size())
	for i := range v {
		v[i] = float32(i + 1)
	}
	if err := eng.Write(x, v); err != nil {
		t.Fatal(err)
	}
	return x
}

// Loading is nothing that a recording could repeat.
func TestAModuleIsNotLoadedWhileWorkIsRecorded(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	x := filled(t, eng, 1, 1, 2, 2)
	loaded := dev.Calls["Load"]
	scale := func() error { return eng.Scale(x, x, 2) }
	if _, err := eng.Record(scale); err == nil || !strings.Contains(err.Error(), "module maps is loaded with its first kernel, which cannot be recorded: run the operation once before") {
		t.Errorf("a first kernel is recorded: %v", err)
	}
	if dev.Calls["Load"] != loaded {
		t.Error("a module was loaded")
	}
	if err := scale(); err != nil {
		t.Fatal(err)
	}
	r, err := eng.Record(scale)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestEveryModuleOfKernelsLoads(t *testing.T) {
	e, _, _ := newFake(t, Options{})
	everyModuleLoads(t, e)
}

func everyModuleLoads(t *testing.T, e *Engine) {
	t.Helper()
	for _, name := range kernels.Modules() {
		t.Run(name, func(t *testing.T) {
			m := e.load(name)
			if m.err != nil {
				t.Fatal(m.err)
			}
			for _, kernel := range kernels.Names(name) {
				if m.kernels[kernel] == 0 {
					t.Errorf("%s is not in it", kernel)
				}
			}
		})
	}
}
