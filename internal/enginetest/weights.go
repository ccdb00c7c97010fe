package enginetest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// ChangedWeights tests that products see what every operation writes: an engine may keep
// weights in another form from one product to the next. Each operand of each operation
// that could be weights is multiplied before and after the operation, on an engine that open
// makes, and the last product is compared with that by a copy. between is called before
// the operation.
func ChangedWeights(t *testing.T, open func(t *testing.T) engine.Engine, between func(t *testing.T, e engine.Engine)) {
	for _, op := range operations() {
		for i, o := range op.operands {
			if len(o.shape) != 2 && len(o.shape) != 4 {
				continue
			}
			e := open(t)
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			list := make([]engine.Tensor, len(op.operands))
			for j, of := range op.operands {
				list[j] = tensorOf(t, e, positive(rng, of.shape...))
			}
			x := tensorOf(t, e, productInput(rng, o.shape))
			for range 3 {
				productOf(t, e, x, list[i])
			}
			between(t, e)
			if err := op.f(e, list); err != nil {
				t.Fatalf("%s: %v", op.name, err)
			}
			got := productOf(t, e, x, list[i])
			now := make([]float32, list[i].Size())
			if err := e.Read(now, list[i]); err != nil {
				t.Fatal(err)
			}
			want := productOf(t, e, x, tensorOf(t, e, array{o.shape, now}))
			if !slices.EqualFunc(got, want, sameNumber) {
				t.Errorf("%s: a product by %s does not see what the operation made of it: %v, want %v", op.name, o.name, got, want)
			}
		}
	}
}

func sameNumber(a, b float32) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// tensorOf makes a tensor of the numbers of a.
func tensorOf(t *testing.T, e engine.Engine, a array) engine.Tensor {
	t.Helper()
	x, err := e.New(a.shape...)
	if err == nil {
		err = e.Write(x, a.v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// productInput draws what weights of that shape multiply.
func productInput(rng *rand.Rand, w []int) array {
	if len(w) == 2 {
		return normal(rng, 3, w[1])
	}
	return normal(rng, 1, w[1], w[2]+1, w[3]+1)
}

// productOf returns the product of x and weights w, of a linear layer or a convolution.
func productOf(t *testing.T, e engine.Engine, x, w engine.Tensor) []float32 {
	t.Helper()
	shape, s := x.Shape(), w.Shape()
	y, err := e.New(shape[0], s[0])
	if err == nil && len(s) == 2 {
		err = e.Linear(y, x, w, nil)
	}
	if err == nil && len(s) == 4 {
		spec := engine.ConvSpec{KernelH: s[2], KernelW: s[3], StrideH: 1, StrideW: 1}
		if y, err = e.New(shape[0], s[0], 2, 2); err == nil {
			err = e.Conv(y, x, w, spec, engine.Epilogue{})
		}
	}
	got := make([]float32, y.Size())
	if err == nil {
		err = e.Read(got, y)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}
