//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// The same for layer norm, of rows that a warp holds and of others.
func TestALayerNormGradientIsAddedToAnother(t *testing.T) {
	for _, p := range []Precision{FP32, BF16} {
		for _, d := range []int{5, 32, 2056} {
			for _, inPlace := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%d/in place %v", p, d, inPlace), func(t *testing.T) {
					eng, _, _ := newFake(t, Options{Precision: p})
					rng := rand.New(rand.NewPCG(4, 2))
					x, dy, sum, y := drawn(t, eng, rng, 2, 3, d), drawn(t, eng, rng, 2, 3, d), drawn(t, eng, rng, 2, 3, d), drawn(t, eng, rng, 2, 3, d)
					alone, dx := drawn(t, eng, rng, 2, 3, d), sum
					if !inPlace {
						dx = drawn(t, eng, rng, 2, 3, d)
					}
					gamma, beta, mean, inv := filled(t, eng, d), filled(t, eng, d), filled(t, eng, 2, 3), filled(t, eng, 2, 3)
					var params [4]engine.Tensor // gradients of gamma and beta, alone and with the sum
					for i := range params {
						params[i] = filled(t, eng, d)
					}
					before := read(t, eng, sum)
					for _, err := range []error{
						eng.Scale(gamma, gamma, 1/float32(d)),
						eng.LayerNorm(y, mean, inv, x, gamma, beta, 1e-5),
						eng.LayerNormGrad(alone, params[0], params[1], dy, x, gamma, mean, inv),
						eng.AddLayerNormGrad(dx, sum, params[2], params[3], dy, x, gamma, mean, inv),
					} {
						if err != nil {
							t.Fatal(err)
						}
					}
					got, tolerance := read(t, eng, dx), 1e-6
					if p == BF16 {
						tolerance = 1. / 64
					}
					for i, v := range read(t, eng, alone) {
						want := float64(v) + float64(before[i])
						if math.Abs(float64(got[i])-want) > tolerance*(1+math.Abs(want)) {
							t.Fatalf("element %d: %v, want %v", i, got[i], want)
						}
					}
					for i := range 2 {
						if !slices.Equal(read(t, eng, params[i]), read(t, eng, params[i+2])) {
							t.Errorf("the gradient of parameter %d differs", i)
						}
					}
				})
			}
		}
	}
}
