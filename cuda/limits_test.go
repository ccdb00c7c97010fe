//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Kernels count in 31 bits: what is larger is refused where memory is planned,
// before anything is launched.
func TestArraysThatKernelsCannotCountAreRefused(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	launches := dev.Calls["Launch"]
	large := []int{1 << 16, 1 << 15} // 2^31
	arena, err := eng.Arena(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"new":        func() error { _, err := eng.New(large...); return err },
		"activation": func() error { _, err := eng.NewActivation(large...); return err },
		"footprint":  func() error { _, err := eng.Footprint(large...); return err },
		"arena":      func() error { _, err := arena.Tensor(0, large...); return err },
		"huge":       func() error { _, err := eng.New(1<<40, 1<<40); return err },
	} {
		err := f()
		if err == nil {
			t.Errorf("%s: an array of 2^31 numbers is taken", name)
			continue
		}
		for _, want := range []string{"2147483647", "smaller batches"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", name, err, want)
			}
		}
	}
	if _, err := eng.Footprint(kernels.MaxNumbers); err != nil {
		t.Error(err)
	}
	if dev.Calls["Launch"] != launches {
		t.Error("something was launched")
	}
}

// A graph says which of its values it is.
func TestAGraphNamesTheValueThatIsTooLarge(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	x := g.Input("images", 1<<9, 1<<10, 1<<6, 1<<6)
	g.ReLU("stem.relu", x)
	launches := dev.Calls["Launch"]
	err := g.Compile()
	if err == nil {
		t.Fatal("a graph with an array of 2^31 numbers compiles")
	}
	for _, want := range []string{"images", "[512 1024 64 64]", "2147483647", "smaller batches"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if dev.Calls["Launch"] != launches {
		t.Error("something was launched")
	}
}

func TestGridsThatNoGPUTakesAreRefused(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	launches := dev.Calls["Launch"]
	for _, l := range []kernels.Launch{
		kernels.Pairs{N: 64 * (1 << 16), K: 1, H: 1, R: "linear", P: 2}.Value(kernels.Split{Parts: 1, Per: 16}, 0, 0, 0, 0, 0)[0],
		kernels.FromPlanar(kernels.F32, 1<<16, 1, 1, 0, 0),
		kernels.Scale(kernels.F32, kernels.MaxNumbers+1, 0, 0, 1),
		kernels.Softmax(1, kernels.MaxNumbers+1, 0, 0, false),
	} {
		err := eng.launch(l)
		if err == nil || !strings.Contains(err.Error(), l.Name) || !strings.Contains(err.Error(), "smaller batches") {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
	if dev.Calls["Launch"] != launches {
		t.Error("something was launched")
	}
	if err := (kernels.FromPlanar(kernels.F32, 1<<16-1, 1, 1, 0, 0)).Check(); err != nil {
		t.Error(err)
	}
}

// The gradient of a maximum keeps places in windows in 16 bits.
func TestWindowsWithoutPlacesForTheirMaximaAreRefused(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	for side, want := range map[int]string{256: "", 257: "a window of 257x257 positions, the GPU engine takes 65536 in all at most"} {
		spec := engine.SquarePool(side, 1, 0, false)
		x, dx, y, dy := filled(t, eng, 1, 1, 257, 257), filled(t, eng, 1, 1, 257, 257), filled(t, eng, 1, 1, 258-side, 258-side), filled(t, eng, 1, 1, 258-side, 258-side)
		err := eng.MaxPoolGrad(dx, dy, x, y, spec)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%dx%d: got %v, want %q", side, side, err, want)
		}
	}
}
