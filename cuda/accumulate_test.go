//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
)

// drawn is a tensor of normal numbers, stored as activations are.
func drawn(t *testing.T, eng *Engine, rng *rand.Rand, shape ...int) engine.Tensor {
	t.Helper()
	x, err := eng.NewActivation(shape...)
	if err != nil {
		t.Fatal(err)
	}
	host := make([]float32, x.Size())
	for i := range host {
		host[i] = float32(rng.NormFloat64())
	}
	if err := eng.Write(x, host); err != nil {
		t.Fatal(err)
	}
	return x
}

func read(t *testing.T, eng engine.Engine, x engine.Tensor) []float32 {
	t.Helper()
	host := make([]float32, x.Size())
	if err := eng.Read(host, x); err != nil {
		t.Fatal(err)
	}
	return host
}

// Whoever adds, the library, a kernel behind it, or one behind a kernel of our own: the
// sum is that of the two gradients.
func TestAGradientIsAddedToAnother(t *testing.T) {
	for _, p := range []Precision{FP32, BF16} {
		for _, way := range []string{"cuDNN adds", "cuDNN overwrites", "without cuDNN"} {
			for _, inPlace := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%s/in place %v", p, way, inPlace), func(t *testing.T) {
					eng, dev, dnn := newFake(t, Options{Precision: p, Warn: func(string) {}})
					dnn.Overwrites = way == "cuDNN overwrites"
					if way == "without cuDNN" {
						dnn.Refuse = func(device.Direction, device.Conv) bool { return true }
					}
					rng := rand.New(rand.NewPCG(4, 2))
					spec := engine.SquareConv(3, 2, 1)
					dy, w, sum := drawn(t, eng, rng, 2, 5, 3, 4), drawn(t, eng, rng, 5, 3, 3, 3), drawn(t, eng, rng, 2, 3, 6, 7)
					alone := drawn(t, eng, rng, 2, 3, 6, 7)
					before := read(t, eng, sum)
					for range 2 { // the first looks for an algorithm
						dx := sum
						if inPlace {
							if err := eng.Write(sum, before); err != nil {
								t.Fatal(err)
							}
						} else {
							dx = drawn(t, eng, rng, 2, 3, 6, 7)
						}
						launches := dev.Calls["Launch"]
						if err := eng.AddConvGradInput(dx, sum, dy, w, spec); err != nil {
							t.Fatal(err)
						}
						if added := dev.Calls["Launch"] - launches; way == "cuDNN adds" && added != 0 {
							t.Errorf("%d kernels beside cuDNN's, want none", added)
						}
						if err := eng.ConvGradInput(alone, dy, w, spec); err != nil {
							t.Fatal(err)
						}
						got, tolerance := read(t, eng, dx), 1e-5
						if p == BF16 {
							tolerance = 1. / 64
						}
						for i, v := range read(t, eng, alone) {
							want := float64(v) + float64(before[i])
							if math.Abs(float64(got[i])-want) > tolerance*(1+math.Abs(want)) {
								t.Fatalf("element %d: %v, want %v", i, got[i], want)
							}
						}
					}
				})
			}
		}
	}
}

// A library that turns out not to add is known as such when the step is recorded.
func TestAStepOfALibraryThatAddsNothingIsRecorded(t *testing.T) {
	eng, _, dnn := newFake(t, Options{Precision: BF16})
	dnn.Overwrites = true
	g, _ := bundled(t, eng)
	for range 4 {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if stretches, refusal := g.Recorded(); stretches != 2 || refusal != nil {
		t.Errorf("%d recordings, refusal %v", stretches, refusal)
	}
}
