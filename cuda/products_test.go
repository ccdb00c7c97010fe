//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
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
