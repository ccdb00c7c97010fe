package reference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/engine"
)

// The conformance suite, which this engine passes too, has golden numbers and
// finite differences for most operations. The rest stands here.

func tensorOf(t *testing.T, shape []int, v ...float32) engine.Tensor {
	t.Helper()
	x, err := New().New(shape...)
	if err != nil {
		t.Fatal(err)
	}
	if err := New().Write(x, v); err != nil {
		t.Fatal(err)
	}
	return x
}

func wantNumbers(t *testing.T, what string, x engine.Tensor, want ...float32) {
	t.Helper()
	got := make([]float32, len(want))
	if err := New().Read(got, x); err != nil {
		t.Fatal(err)
	}
	same := slices.EqualFunc(got, want, func(a, b float32) bool { return a == b || a != a && b != b })
	if !same {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestEpilogueInItsOrder(t *testing.T) {
	e := New()
	// 1x1 products of x = 1, 2 with kernels 3 and -1: sums 3, 6 and -1, -2.
	x, w := tensorOf(t, []int{1, 1, 1, 2}, 1, 2), tensorOf(t, []int{2, 1, 1, 1}, 3, -1)
	scale, shift := tensorOf(t, []int{2}, 2, 10), tensorOf(t, []int{2}, -7, 4)
	residual := tensorOf(t, []int{1, 2, 1, 2}, 0.5, -20, 1, 100)
	for _, c := range []struct {
		what string
		e    engine.Epilogue
		want []float32
	}{
		{"nothing", engine.Epilogue{}, []float32{3, 6, -1, -2}},
		{"scale", engine.Epilogue{Scale: scale}, []float32{6, 12, -10, -20}},
		{"shift", engine.Epilogue{Shift: shift}, []float32{-4, -1, 3, 2}},
		{"both", engine.Epilogue{Scale: scale, Shift: shift}, []float32{-1, 5, -6, -16}},
		{"residual", engine.Epilogue{Residual: residual}, []float32{3.5, -14, 0, 98}},
		{"all", engine.Epilogue{Scale: scale, Shift: shift, Residual: residual, ReLU: true}, []float32{0, 0, 0, 84}},
		{"relu", engine.Epilogue{ReLU: true}, []float32{3, 6, 0, 0}},
	} {
		y := tensorOf(t, []int{1, 2, 1, 2}, 9, 9, 9, 9)
		if err := e.Conv(y, x, w, engine.SquareConv(1, 1, 0), c.e); err != nil {
			t.Fatal(err)
		}
		wantNumbers(t, c.what, y, c.want...)
	}
}

func TestMatMulAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(r, c int) (engine.Tensor, *mat.Dense) {
		v := make([]float32, r*c)
		d := mat.NewDense(r, c, nil)
		for i := range v {
			v[i] = float32(rng.IntN(9) - 4)
			d.Set(i/c, i%c, float64(v[i]))
		}
		return tensorOf(t, []int{r, c}, v...), d
	}
	const m, n, k = 3, 4, 5
	for mode := range 8 {
		transA, transB, accumulate := mode&1 != 0, mode&2 != 0, mode&4 != 0
		a, da := draw(m, k)
		if transA {
			a, da = draw(k, m)
		}
		b, db := draw(k, n)
		if transB {
			b, db = draw(n, k)
		}
		c, dc := draw(m, n)
		opA, opB := mat.Matrix(da), mat.Matrix(db)
		if transA {
			opA = da.T()
		}
		if transB {
			opB = db.T()
		}
		var product mat.Dense
		product.Mul(opA, opB)
		if accumulate {
			product.Add(&product, dc)
		}
		if err := New().MatMul(c, a, b, transA, transB, accumulate); err != nil {
			t.Fatal(err)
		}
		var want []float32
		for _, v := range product.RawMatrix().Data { // small integers: exact
			want = append(want, float32(v))
		}
		wantNumbers(t, "product", c, want...)
	}
}

func TestElementwiseByHand(t *testing.T) {
	e, shape := New(), []int{4}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x, y := tensorOf(t, shape, 1, -2, nan, -inf), tensorOf(t, shape, 10, 20, 30, 40)
	dst := tensorOf(t, shape, 0, 0, 0, 0)
	for _, c := range []struct {
		what string
		f    func() error
		want []float32
	}{
		{"add", func() error { return e.Add(dst, x, y) }, []float32{11, 18, nan, -inf}},
		{"scale", func() error { return e.Scale(dst, x, -2) }, []float32{-2, 4, nan, inf}},
		{"relu", func() error { return e.ReLU(dst, x) }, []float32{1, 0, nan, 0}},
		{"relu gradient", func() error { return e.ReLUGrad(dst, y, x) }, []float32{10, 0, 0, 0}},
		{"copy", func() error { return e.Copy(dst, y) }, []float32{10, 20, 30, 40}},
		{"zero", func() error { return e.Zero(dst) }, []float32{0, 0, 0, 0}},
		{"clamp", func() error {
			if err := e.Copy(dst, x); err != nil {
				return err
			}
			return e.Clamp([]engine.Tensor{dst}, 1.5)
		}, []float32{1, -1.5, nan, -1.5}},
	} {
		if err := c.f(); err != nil {
			t.Fatal(err)
		}
		wantNumbers(t, c.what, dst, c.want...)
	}
	for _, c := range []struct {
		x    engine.Tensor
		want bool
	}{{x, false}, {y, true}, {tensorOf(t, []int{1}, nan), false}, {tensorOf(t, []int{1}, -inf), false}} {
		if got, err := e.Finite(c.x); err != nil || got != c.want {
			t.Errorf("finite: %v, %v, want %v", got, err, c.want)
		}
	}
	if sum, err := e.SumSquares([]engine.Tensor{y, tensorOf(t, []int{1}, 2)}); err != nil || sum != 3004 {
		t.Errorf("sum of squares: %v, %v, want 3004", sum, err)
	}
}

func TestConcatAndSliceByHand(t *testing.T) {
	e := New()
	a, b := tensorOf(t, []int{2, 1, 2}, 1, 2, 3, 4), tensorOf(t, []int{2, 2, 2}, 5, 6, 7, 8, 9, 10, 11, 12)
	y := tensorOf(t, []int{2, 3, 2}, make([]float32, 12)...)
	if err := e.Concat(y, a, b); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "concat", y, 1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12)
	if err := e.Slice(b, y, 0); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "slice", b, 1, 2, 5, 6, 3, 4, 9, 10)
}

func TestMaxPoolWithNaNAndTies(t *testing.T) {
	e, nan := New(), float32(math.NaN())
	x := tensorOf(t, []int{1, 1, 1, 6}, 3, 3, 1, nan, 2, 2)
	y, dx := tensorOf(t, []int{1, 1, 1, 3}, 0, 0, 0), tensorOf(t, []int{1, 1, 1, 6}, make([]float32, 6)...)
	spec := engine.PoolSpec{KernelH: 1, KernelW: 2, StrideH: 1, StrideW: 2}
	if err := e.MaxPool(y, x, spec); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "maximum", y, 3, nan, 2)
	if err := e.MaxPoolGrad(dx, tensorOf(t, []int{1, 1, 1, 3}, 10, 20, 30), x, y, spec); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "gradient", dx, 10, 0, 0, 20, 30, 0)
}

// Heights and widths of kernel, stride and padding all differ: x has rows 1 2 3
// and 4 5 6, with a row of zeros above and below and none beside.
func TestRectangularWindowsByHand(t *testing.T) {
	e := New()
	x := tensorOf(t, []int{1, 1, 2, 3}, 1, 2, 3, 4, 5, 6)
	w, y := tensorOf(t, []int{1, 1, 1, 2}, 1, 10), tensorOf(t, []int{1, 1, 2, 2}, 9, 9, 9, 9)
	// Every second row of the padded input: the zeros above, then 4 5 6.
	conv := engine.ConvSpec{KernelH: 1, KernelW: 2, StrideH: 2, StrideW: 1, PadH: 1}
	if err := e.Conv(y, x, w, conv, engine.Epilogue{}); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "conv", y, 0, 0, 54, 65)

	pool := engine.PoolSpec{KernelH: 2, KernelW: 1, StrideH: 1, StrideW: 2, PadH: 1}
	y = tensorOf(t, []int{1, 1, 3, 2}, 9, 9, 9, 9, 9, 9)
	if err := e.MaxPool(y, x, pool); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "maximum", y, 1, 3, 4, 6, 4, 6)
	if err := e.AvgPool(y, x, pool); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "average of real cells", y, 1, 3, 2.5, 4.5, 4, 6)
	pool.CountPad = true
	if err := e.AvgPool(y, x, pool); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, "average of all cells", y, 0.5, 1.5, 2.5, 4.5, 2, 3)
}
