package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// TestConvolutionsAgreeWithReference draws shapes, kernels, strides and paddings.
func TestConvolutionsAgreeWithReference(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(1, 2))
		e, ref := openEngine(t, variant, 2), reference.New()
		for range draws(60) {
			spec := engine.ConvSpec{
				KernelH: 1 + rng.IntN(5), KernelW: 1 + rng.IntN(5), StrideH: 1 + rng.IntN(3), StrideW: 1 + rng.IntN(3),
				PadH: rng.IntN(3), PadW: rng.IntN(3),
			}
			if rng.IntN(3) == 0 {
				spec = engine.SquareConv(3, 1, 1)
			}
			if rng.IntN(4) == 0 {
				spec = engine.SquareConv(1, 1, 0)
			}
			n, c, h, w, k := 1+rng.IntN(5), 1+rng.IntN(20), spec.KernelH+rng.IntN(20), spec.KernelW+rng.IntN(20), 1+rng.IntN(40)
			if rng.IntN(4) == 0 { // most of these are Winograd's
				taps := pick(rng.IntN(2) == 0, 3, 7)
				c, h, w, k = 16+rng.IntN(20), 7+rng.IntN(20), 7+rng.IntN(20), 16+rng.IntN(40)
				spec = engine.ConvSpec{KernelH: 1, KernelW: taps, StrideH: 1, StrideW: 1, PadW: rng.IntN(taps)}
				if rng.IntN(2) == 0 {
					spec = engine.ConvSpec{KernelH: taps, KernelW: 1, StrideH: 1, StrideW: 1, PadH: rng.IntN(taps)}
				}
			}
			ho, wo := spec.OutSize(h, w)
			what := fmt.Sprintf("x (%d, %d, %d, %d), %d filters, %+v", n, c, h, w, k, spec)
			limit := 5e-6
			if max(spec.KernelH, spec.KernelW) == 7 {
				limit = 1e-5 // 10 points
			}
			both := func(seed uint64, do func(e engine.Engine, rng *rand.Rand) []engine.Tensor) {
				t.Helper()
				got := do(e, rand.New(rand.NewPCG(seed, 0)))
				want := do(ref, rand.New(rand.NewPCG(seed, 0)))
				for i := range got {
					near(t, fmt.Sprintf("%s: result %d", what, i), read(t, e, got[i]), read(t, ref, want[i]), limit)
				}
			}
			seed := rng.Uint64()
			both(seed, func(e engine.Engine, rng *rand.Rand) []engine.Tensor {
				y := put(t, e, rng, n, k, ho, wo)
				ep := engine.Epilogue{}
				switch seed % 3 {
				case 0:
					ep = engine.Epilogue{Scale: put(t, e, rng, k), Shift: put(t, e, rng, k), ReLU: true}
				case 1:
					ep = engine.Epilogue{Scale: put(t, e, rng, k), Shift: put(t, e, rng, k), Residual: put(t, e, rng, n, k, ho, wo), ReLU: true}
				}
				must(t, e.Conv(y, put(t, e, rng, n, c, h, w), put(t, e, rng, k, c, spec.KernelH, spec.KernelW), spec, ep))
				return []engine.Tensor{y}
			})
			both(seed, func(e engine.Engine, rng *rand.Rand) []engine.Tensor {
				dx := put(t, e, rng, n, c, h, w)
				must(t, e.ConvGradInput(dx, put(t, e, rng, n, k, ho, wo), put(t, e, rng, k, c, spec.KernelH, spec.KernelW), spec))
				return []engine.Tensor{dx}
			})
			both(seed, func(e engine.Engine, rng *rand.Rand) []engine.Tensor {
				dw, db := put(t, e, rng, k, c, spec.KernelH, spec.KernelW), put(t, e, rng, k)
				must(t, e.ConvGradWeights(dw, db, put(t, e, rng, n, k, ho, wo), put(t, e, rng, n, c, h, w), spec))
				return []engine.Tensor{dw, db}
			})
			if t.Failed() {
				return
			}
		}
	})
}

// TestProductsAgreeWithReference draws sizes, transposes and accumulation.
func TestProductsAgreeWithReference(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(3, 4))
		e, ref := openEngine(t, variant, 2), reference.New()
		for i := range draws(120) {
			m, n, k := 1+rng.IntN(70), 1+rng.IntN(70), 1+rng.IntN(70)
			switch i % 10 {
			case 7:
				m = 600 + rng.IntN(20)
			case 8:
				n = 300 + rng.IntN(20)
			case 9:
				k = 2000 + rng.IntN(2000) // split into chunks
			}
			ta, tb, add := rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
			seed := rng.Uint64()
			product := func(e engine.Engine) []float32 {
				rng := rand.New(rand.NewPCG(seed, 0))
				c := put(t, e, rng, m, n)
				a, b := put(t, e, rng, pick(ta, k, m), pick(ta, m, k)), put(t, e, rng, pick(tb, n, k), pick(tb, k, n))
				must(t, e.MatMul(c, a, b, ta, tb, add))
				return read(t, e, c)
			}
			near(t, fmt.Sprintf("(%d, %d, %d) transposed %v %v, accumulated %v", m, n, k, ta, tb, add), product(e), product(ref), 5e-6)
		}
	})
}
