//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
)

// attentionResult is the results of one attention, and the launches that it took.
type attentionResult struct {
	y, logSum, dqkv []float32
	calls           map[string]int
}

// attend computes attention and its gradient twice, the second time counting.
func attend(t *testing.T, opt Options, batch, tokens, heads, size int) attentionResult {
	t.Helper()
	d := fake.New(1 << 30)
	eng, _ := onFake(t, d, opt)
	rng := rand.New(rand.NewPCG(8, 9))
	width := heads * size
	qkv, dy := drawn(t, eng, rng, batch, tokens, 3*width), drawn(t, eng, rng, batch, tokens, width)
	y, dqkv := drawn(t, eng, rng, batch, tokens, width), drawn(t, eng, rng, batch, tokens, 3*width)
	logSum, err := eng.New(batch, heads, tokens)
	if err != nil {
		t.Fatal(err)
	}
	spec := engine.AttentionSpec{Heads: heads, Scale: float32(1 / math.Sqrt(float64(size)))}
	before := map[string]int{}
	for range 2 {
		for name, n := range d.Calls {
			before[name] = n
		}
		for _, err := range []error{eng.Attention(y, logSum, qkv, spec), eng.AttentionGrad(dqkv, dy, y, logSum, qkv, spec)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	calls := map[string]int{}
	for _, name := range []string{"Gemm", "Launch", "Alloc"} {
		calls[name] = d.Calls[name] - before[name]
	}
	return attentionResult{read(t, eng, y), read(t, eng, logSum), read(t, eng, dqkv), calls}
}

// As many images at a time as there is room for, and none where there is not or where
// matrices begin at odd places.
func TestAttentionByProductsIsThatOfTheKernels(t *testing.T) {
	for _, c := range []struct {
		name                       string
		precision                  Precision
		workspace                  int64
		batch, tokens, heads, size int
		products, kernels          int
	}{
		{"all images at once", TF32, 1 << 20, 3, 9, 2, 8, 7, 2},
		{"gradients one by one", TF32, 8 << 10, 3, 9, 2, 8, 17, 4},
		{"gradients of two and of one", TF32, 11 << 10, 3, 9, 2, 8, 12, 3},
		{"no room for gradients", TF32, 4 << 10, 3, 9, 2, 8, 6, 6},
		{"no room", TF32, 2 << 10, 3, 9, 2, 8, 0, 4},
		{"odd heads", TF32, 1 << 20, 3, 9, 2, 7, 0, 4},
		{"full precision", FP32, 1 << 20, 3, 9, 2, 8, 0, 4},
		{"bfloat16", BF16, 1 << 20, 3, 9, 2, 8, 7, 2},
		{"bfloat16, odd heads", BF16, 1 << 20, 3, 9, 2, 12, 0, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := attend(t, Options{Precision: FP32}, c.batch, c.tokens, c.heads, c.size)
			got := attend(t, Options{Precision: c.precision, Workspace: c.workspace}, c.batch, c.tokens, c.heads, c.size)
			tolerance := 1e-5
			if c.precision == BF16 {
				tolerance = .03
			}
			for name, x := range map[string][2][]float32{"y": {got.y, want.y}, "logSum": {got.logSum, want.logSum}, "dqkv": {got.dqkv, want.dqkv}} {
				for i, w := range x[1] {
					if math.Abs(float64(x[0][i]-w)) > tolerance*(1+math.Abs(float64(w))) {
						t.Fatalf("%s: element %d is %v, want %v", name, i, x[0][i], w)
					}
				}
			}
			if n := got.calls; n["Gemm"] != c.products || n["Launch"] != c.kernels || n["Alloc"] != 0 {
				t.Errorf("%d products, %d kernels and %d allocations, want %d, %d and none", n["Gemm"], n["Launch"], n["Alloc"], c.products, c.kernels)
			}
		})
	}
}

// Where the images are divided changes no bit.
func TestTheRoomForScoresChangesNoBit(t *testing.T) {
	for _, p := range []Precision{TF32, BF16} {
		whole, parts := attend(t, Options{Precision: p, Workspace: 1 << 20}, 3, 9, 2, 8), attend(t, Options{Precision: p, Workspace: 8 << 10}, 3, 9, 2, 8)
		if !slices.Equal(whole.y, parts.y) || !slices.Equal(whole.logSum, parts.logSum) || !slices.Equal(whole.dqkv, parts.dqkv) {
			t.Errorf("%v: the images in parts differ from all at once", p)
		}
	}
}
