package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// openEngine returns an engine of a variant that ends with the test.
func openEngine(t testing.TB, variant string, threads int) *Engine {
	t.Helper()
	e, err := New(Options{Variant: variant, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// eachVariant runs a subtest for every variant of this machine.
func eachVariant(t *testing.T, test func(t *testing.T, variant string)) {
	for _, v := range Variants() {
		t.Run(v, func(t *testing.T) { test(t, v) })
	}
}

// numbers returns n numbers in [-1, 1).
func numbers(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// put makes a tensor of random numbers.
func put(t testing.TB, e engine.Engine, rng *rand.Rand, shape ...int) engine.Tensor {
	t.Helper()
	return load(t, e, numbers(rng, volume(shape)), shape...)
}

func load(t testing.TB, e engine.Engine, v []float32, shape ...int) engine.Tensor {
	t.Helper()
	x, err := e.New(shape...)
	if err == nil {
		err = e.Write(x, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func read(t testing.TB, e engine.Engine, x engine.Tensor) []float32 {
	t.Helper()
	v := make([]float32, x.Size())
	if err := e.Read(v, x); err != nil {
		t.Fatal(err)
	}
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// near fails unless got is within rel of the largest magnitude of want.
func near(t testing.TB, what string, got, want []float32, rel float64) {
	t.Helper()
	if err := compare(got, want, rel); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func compare(got, want []float32, rel float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	most := 0.0
	for _, v := range want {
		if a := math.Abs(float64(v)); a <= math.MaxFloat32 {
			most = max(most, a)
		}
	}
	for i, w := range want {
		g := got[i]
		if g == w || g != g && w != w {
			continue
		}
		if d := math.Abs(float64(g) - float64(w)); !(d <= rel*most+1e-32) {
			return fmt.Errorf("[%d] is %v, want %v (off by %.3g, limit %.3g)", i, g, w, d, rel*most)
		}
	}
	return nil
}
