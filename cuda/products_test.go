//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// A linear layer's bias is added by the library, or by a kernel where it cannot.
func TestABiasIsAddedByTheLibraryOrByAKernel(t *testing.T) {
	for _, c := range []struct {
		precision Precision
		copied    bool // the bias, as a bundle copies it
	}{{TF32, false}, {BF16, false}, {BF16, true}} {
		precision, copied := c.precision, c.copied
		for _, without := range []bool{false, true} {
			eng, dev, _ := newFake(t, Options{Precision: precision})
			blas := eng.blas.(*fake.Blas)
			blas.NoBias = without
			run := func(e engine.Engine) []float32 {
				t.Helper()
				list := make([]engine.Tensor, 4)
				for i, shape := range [][]int{{2, 5, 7}, {3, 7}, {3}, {2, 5, 3}} {
					var err error
					if n, ok := e.(*Engine); ok && (i%3 == 0 || i == 2 && copied) {
						list[i], err = n.NewActivation(shape...)
					} else {
						list[i], err = e.New(shape...)
					}
					x := make([]float32, list[i].Size())
					for j := range x {
						x[j] = float32(j%5) - 2 + float32(i)/4
					}
					if err == nil {
						err = e.Write(list[i], x)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Linear(list[3], list[0], list[1], list[2]); err != nil {
					t.Fatal(err)
				}
				return numbers(t, e, list[3])
			}
			want := run(reference.New())
			before := dev.Calls["Gemm"]
			got := run(eng)
			for i, w := range want {
				if math.Abs(float64(got[i]-w)) > .02*(1+math.Abs(float64(w))) || precision == TF32 && math.Abs(float64(got[i]-w)) > 1e-5 {
					t.Errorf("%v, without %v: element %d is %v, want %v", precision, without, i, got[i], w)
				}
			}
			if n := dev.Calls["Gemm"] - before; n != 1 || (blas.Biased == 1) == without {
				t.Errorf("%v, without %v: %d products, %d with a bias", precision, without, n, blas.Biased)
			}
		}
	}
}

// Tokens are added to a residual by the library or by a kernel, which reads the bias in
// float32 where a bundle has made a copy of it.
func TestALinearLayerIsAddedToAResidual(t *testing.T) {
	for _, p := range []Precision{FP32, BF16} {
		for _, bias := range []string{"float32", "as tokens", "none"} {
			for _, without := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/bias %s/without the library %v", p, bias, without), func(t *testing.T) {
					eng, dev, _ := newFake(t, Options{Precision: p})
					blas := eng.blas.(*fake.Blas)
					rng := rand.New(rand.NewPCG(3, 1))
					x, w, sum := drawn(t, eng, rng, 2, 5, 7), drawn(t, eng, rng, 3, 7), drawn(t, eng, rng, 2, 5, 3)
					y, alone := drawn(t, eng, rng, 2, 5, 3), drawn(t, eng, rng, 2, 5, 3)
					var b engine.Tensor
					switch bias {
					case "float32":
						b = filled(t, eng, 3)
					case "as tokens":
						b = drawn(t, eng, rng, 3)
					}
					before := read(t, eng, sum)
					blas.NoBias = false
					if err := eng.Linear(alone, x, w, b); err != nil {
						t.Fatal(err)
					}
					blas.NoBias = without
					launches, products := dev.Calls["Launch"], dev.Calls["Gemm"]
					if err := eng.AddLinear(y, sum, x, w, b); err != nil {
						t.Fatal(err)
					}
					byLibrary := b != nil && !without
					if n := dev.Calls["Gemm"] - products; n != 1 || (blas.Residuals == 1) != byLibrary {
						t.Errorf("%d products, %d with a residual", n, blas.Residuals)
					}
					if n := dev.Calls["Launch"] - launches; byLibrary && p == FP32 && n != 0 {
						t.Errorf("%d kernels beside the product, want none", n)
					}
					tolerance := 1e-6
					if p == BF16 {
						tolerance = 1. / 64
					}
					got := read(t, eng, y)
					for i, v := range read(t, eng, alone) {
						want := float64(v) + float64(before[i])
						if math.Abs(float64(got[i])-want) > tolerance*(1+math.Abs(float64(v))+math.Abs(want)) {
							t.Fatalf("element %d: %v, want %v", i, got[i], want)
						}
					}
					for i, v := range read(t, eng, sum) {
						if v != before[i] {
							t.Fatalf("element %d of the residual became %v, from %v", i, v, before[i])
						}
					}
					for what, err := range map[string]error{
						"share memory": eng.AddLinear(sum, sum, x, w, b),
						"sum":          eng.AddLinear(y, x, x, w, b),
					} {
						if err == nil || !strings.Contains(err.Error(), what) {
							t.Errorf("error %v, want one with %q", err, what)
						}
					}
				})
			}
		}
	}
}

// The gradient of a linear layer's bias is summed by the library with that of the weights,
// or by a kernel: where it cannot, and where results are to be the same always.
func TestABiasesGradientIsSummedByTheLibraryOrByAKernel(t *testing.T) {
	for _, c := range []struct {
		options   Options
		without   bool
		byLibrary bool
	}{
		{Options{Precision: BF16}, false, true},
		{Options{Precision: TF32}, false, true},
		{Options{Precision: BF16}, true, false},
		{Options{Precision: BF16, Deterministic: true}, false, false},
		{Options{Precision: FP32}, false, false},
	} {
		t.Run(fmt.Sprintf("%+v/without %v", c.options, c.without), func(t *testing.T) {
			eng, dev, _ := newFake(t, c.options)
			blas := eng.blas.(*fake.Blas)
			blas.NoBias = c.without
			rng := rand.New(rand.NewPCG(3, 1))
			dy, x, w := drawn(t, eng, rng, 2, 70, 3), drawn(t, eng, rng, 2, 70, 7), drawn(t, eng, rng, 3, 7)
			dw, db, alone := filled(t, eng, 3, 7), sumsTensor(t, eng, true, 3), filled(t, eng, 3, 7)
			launches := dev.Calls["Launch"]
			if err := eng.LinearGrad(nil, dw, db, dy, x, w); err != nil {
				t.Fatal(err)
			}
			if n := dev.Calls["Launch"] - launches; (n == 0) != c.byLibrary || (blas.Summed == 1) != c.byLibrary {
				t.Errorf("%d kernels, %d products with sums", n, blas.Summed)
			}
			if err := eng.LinearGrad(nil, alone, nil, dy, x, w); err != nil {
				t.Fatal(err)
			}
			if got, want := read(t, eng, dw), read(t, eng, alone); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the gradient of the weights is %v, without sums %v", got, want)
			}
			got := read(t, eng, db)
			for k := range 3 {
				want := 0.0
				for i, v := range read(t, eng, dy) {
					if i%3 == k {
						want += float64(v)
					}
				}
				if math.Abs(float64(got[k])-want) > 1e-4 {
					t.Errorf("sum %d is %v, want %v", k, got[k], want)
				}
			}
		})
	}
}
