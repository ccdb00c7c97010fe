package cpu

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// narrowEngine returns an engine in bf16, or skips the test where the variant has none.
func narrowEngine(t *testing.T, variant string, threads int) *Engine {
	t.Helper()
	e, err := New(Options{Variant: variant, Threads: threads, Precision: BF16})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// narrowResults computes with products of a network, and returns what comes out by name.
func narrowResults(t *testing.T, e *Engine) map[string][]float32 {
	rng := rand.New(rand.NewPCG(41, 42))
	results := map[string][]float32{}
	keep := func(name string, err error, outs ...engine.Tensor) {
		must(t, err)
		for i, x := range outs {
			results[name+[]string{"", " of weights"}[i]] = read(t, e, x)
		}
	}
	// Sizes that fill no panel, and a number of terms that is odd.
	const b, n, in, out = 3, 67, 131, 203
	x, w, bias := put(t, e, rng, b, n, in), put(t, e, rng, out, in), put(t, e, rng, out)
	y, dx, dw, dy := put(t, e, rng, b, n, out), put(t, e, rng, b, n, in), put(t, e, rng, out, in), put(t, e, rng, b, n, out)
	keep("linear", e.Linear(y, x, w, bias), y)
	keep("linear gradient", e.LinearGrad(dx, dw, nil, dy, x, w), dx, dw)
	large, wide := put(t, e, rng, 9, 197, 160), put(t, e, rng, 96, 160)
	narrow := put(t, e, rng, 9, 197, 96)
	keep("linear of many rows", e.Linear(narrow, large, wide, nil), narrow)

	const heads, size = 2, 24
	qkv, dqkv := put(t, e, rng, b, n, 3*heads*size), put(t, e, rng, b, n, 3*heads*size)
	a, da, logSum := put(t, e, rng, b, n, heads*size), put(t, e, rng, b, n, heads*size), put(t, e, rng, b, heads, n)
	spec := engine.AttentionSpec{Heads: heads, Scale: 0.2}
	keep("attention", e.Attention(a, logSum, qkv, spec), a)
	keep("attention gradient", e.AttentionGrad(dqkv, da, a, logSum, qkv, spec), dqkv)

	for name, spec := range map[string]engine.ConvSpec{"1x1": engine.SquareConv(1, 1, 0), "5x5": engine.SquareConv(5, 1, 2), "7x7 / 2": engine.SquareConv(7, 2, 3)} {
		rng := rand.New(rand.NewPCG(43, uint64(spec.KernelH)))
		const side, channels, filters = 15, 13, 21
		rows, cols := spec.OutSize(side, side)
		x, w := put(t, e, rng, 2, channels, side, side), put(t, e, rng, filters, channels, spec.KernelH, spec.KernelW)
		y, dy := put(t, e, rng, 2, filters, rows, cols), put(t, e, rng, 2, filters, rows, cols)
		dx, dw := put(t, e, rng, 2, channels, side, side), put(t, e, rng, filters, channels, spec.KernelH, spec.KernelW)
		keep("conv "+name, e.Conv(y, x, w, spec, engine.Epilogue{}), y)
		keep("conv gradient of input "+name, e.ConvGradInput(dx, dy, w, spec), dx)
		keep("conv gradient "+name, e.ConvGradWeights(dw, nil, dy, x, spec), dw)
	}
	return results
}

// TestNarrowProducts: products in bf16 are those of float32 up to its rounding, and those
// of the portable kernels up to that of sums; only attention rounds what was computed, and
// may round it otherwise.
func TestNarrowProducts(t *testing.T) {
	exact := narrowResults(t, openEngine(t, "portable", 1))
	oracle := narrowResults(t, narrowEngine(t, "portable", 1))
	eachVariant(t, func(t *testing.T, variant string) {
		for name, got := range narrowResults(t, narrowEngine(t, variant, 2)) {
			limit := 2e-6
			if strings.HasPrefix(name, "attention") {
				limit = 1e-2
			}
			near(t, name+" beside the portable kernels", got, oracle[name], limit)
			near(t, name+" beside float32", got, exact[name], 1e-2)
			same := true
			for i, x := range got {
				same = same && x == exact[name][i]
			}
			if same {
				t.Errorf("%s is not rounded", name)
			}
		}
	})
}

func TestNarrowProductsOfAnyNumberOfThreads(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		want := narrowResults(t, narrowEngine(t, variant, 1))
		for name, got := range narrowResults(t, narrowEngine(t, variant, 3)) {
			for i, x := range got {
				if math.Float32bits(x) != math.Float32bits(want[name][i]) {
					t.Fatalf("%s [%d] is %v with 3 threads, %v with one", name, i, x, want[name][i])
				}
			}
		}
	})
}

// Rows, unlike tokens, are what embeddings and classes come from: float32.
func TestProductsOfRowsStayFloat32(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		results := [2][]float32{}
		for i, e := range []*Engine{openEngine(t, variant, 1), narrowEngine(t, variant, 1)} {
			rng := rand.New(rand.NewPCG(5, 6))
			y, c := put(t, e, rng, 30, 70), put(t, e, rng, 30, 70)
			x, w := put(t, e, rng, 30, 50), put(t, e, rng, 70, 50)
			must(t, e.Linear(y, x, w, nil))
			must(t, e.MatMul(c, x, w, false, true, false))
			results[i] = append(read(t, e, y), read(t, e, c)...)
		}
		near(t, "rows", results[1], results[0], 0)
	})
}

func TestPrecision(t *testing.T) {
	for _, c := range []struct{ variant, precision, want string }{
		{"portable", "", ""}, {"portable", FP32, ""}, {"portable", BF16, ""},
		{"portable", "fp16", `cpu: precision: "fp16" is not known, want fp32 or bf16`},
		{"avx2", BF16, "cpu: precision: products in bf16 need a processor with AVX-512 BF16; the kernels avx2 of this one compute in fp32"},
	} {
		if _, err := pickKernels(c.variant); err != nil {
			continue
		}
		e, err := New(Options{Variant: c.variant, Precision: c.precision, Threads: 1})
		switch {
		case c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s in %q: %v, want %q", c.variant, c.precision, err, c.want)
		case err == nil:
			if want := map[string]string{"": FP32}[c.precision] + c.precision; e.Info().Precision != want {
				t.Errorf("%s in %q says %q", c.variant, c.precision, e.Info().Precision)
			}
			e.Close()
		}
	}
}
