//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// sumsTensor is room for sums, with parts or without, which holds other numbers.
func sumsTensor(t *testing.T, eng *Engine, parts bool, c int) engine.Tensor {
	t.Helper()
	if !parts {
		return filled(t, eng, c)
	}
	bytes, err := eng.SumsFootprint(c)
	if err != nil {
		t.Fatal(err)
	}
	a, err := eng.Arena(bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	x, err := a.(engine.SumsArena).Sums(0, c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A gradient that is summed as it is computed has the bits of the gradient, and its sums
// those of a bias's gradient, computed from it.
func TestGradientsAreSummed(t *testing.T) {
	shapes := map[string][]int{"maps": {3, 5, 7, 9}, "wide maps": {2, 72, 6, 5}, "tokens": {2, 70, 24}, "rows": {9, 6}}
	for _, p := range []Precision{FP32, BF16} {
		for name, shape := range shapes {
			for _, parts := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%s/parts %v", p, name, parts), func(t *testing.T) {
					eng, dev, _ := newFake(t, Options{Precision: p})
					rng := rand.New(rand.NewPCG(8, 1))
					dy, x := drawn(t, eng, rng, shape...), drawn(t, eng, rng, shape...)
					c := shape[len(shape)-1]
					if len(shape) == 4 {
						c = shape[1]
					}
					for name, f := range map[string]struct {
						alone  func(dx engine.Tensor) error
						summed func(dx, sums engine.Tensor) error
					}{
						"relu":  {func(dx engine.Tensor) error { return eng.ReLUGrad(dx, dy, x) }, func(dx, sums engine.Tensor) error { return eng.ReLUGradSums(dx, sums, dy, x) }},
						"relu6": {func(dx engine.Tensor) error { return eng.ReLU6Grad(dx, dy, x) }, func(dx, sums engine.Tensor) error { return eng.ReLU6GradSums(dx, sums, dy, x) }},
						"gelu":  {func(dx engine.Tensor) error { return eng.GELUGrad(dx, dy, x, engine.GELUErf) }, func(dx, sums engine.Tensor) error { return eng.GELUGradSums(dx, sums, dy, x, engine.GELUErf) }},
					} {
						want, got, sums := drawn(t, eng, rng, shape...), drawn(t, eng, rng, shape...), sumsTensor(t, eng, parts, c)
						if err := f.alone(want); err != nil {
							t.Fatal(err)
						}
						before := dev.Calls["Launch"]
						if err := f.summed(got, sums); err != nil {
							t.Fatal(err)
						}
						if n := dev.Calls["Launch"] - before; parts && n != 1 {
							t.Errorf("%s: %d launches, want 1", name, n)
						}
						if !slices.Equal(read(t, eng, got), read(t, eng, want)) {
							t.Errorf("%s: the gradient differs", name)
						}
						if !slices.Equal(read(t, eng, sums), biasGrad(t, eng, want, c)) {
							t.Errorf("%s: the sums differ", name)
						}
					}
				})
			}
		}
	}
}

// biasGrad is the gradient of the bias of an op that gave what d is the gradient of.
func biasGrad(t *testing.T, eng *Engine, d engine.Tensor, c int) []float32 {
	t.Helper()
	out := filled(t, eng, c)
	var err error
	if s := d.Shape(); len(s) == 4 {
		err = eng.ConvGradWeights(nil, out, d, filled(t, eng, s[0], 1, s[2], s[3]), engine.SquareConv(1, 1, 0))
	} else {
		err = eng.LinearGrad(nil, nil, out, d, filled(t, eng, append(slices.Clone(s[:len(s)-1]), 1)...), filled(t, eng, c, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return read(t, eng, out)
}

// Six inputs take two launches; the gradients have the bits of those taken one by one.
func TestAConcatenationsGradientIsTakenApartAtOnce(t *testing.T) {
	for _, p := range []Precision{FP32, BF16} {
		eng, dev, _ := newFake(t, Options{Precision: p})
		rng := rand.New(rand.NewPCG(8, 1))
		widths := []int{8, 3, 16, 24, 7, 40}
		total := 0
		for _, c := range widths {
			total += c
		}
		dy, y := drawn(t, eng, rng, 2, total, 5, 7), drawn(t, eng, rng, 2, total, 5, 7)
		var inputs []engine.ConcatInput
		for i, c := range widths {
			in := engine.ConcatInput{C: c, Rectified: i != 2}
			if i != 3 {
				in.DX = drawn(t, eng, rng, 2, c, 5, 7)
			}
			if i < 3 {
				in.Sums = sumsTensor(t, eng, true, c)
			}
			inputs = append(inputs, in)
		}
		before := dev.Calls["Launch"]
		if err := eng.ConcatGrad(inputs, dy, y); err != nil {
			t.Fatal(err)
		}
		if n := dev.Calls["Launch"] - before; n != 2 {
			t.Errorf("%v: %d launches, want 2", p, n)
		}
		from := 0
		for i, in := range inputs {
			want := drawn(t, eng, rng, 2, in.C, 5, 7)
			err := eng.SliceReLUGrad(want, dy, y, from)
			if !in.Rectified {
				err = eng.Slice(want, dy, from)
			}
			if err != nil {
				t.Fatal(err)
			}
			from += in.C
			if in.DX != nil && !slices.Equal(read(t, eng, in.DX), read(t, eng, want)) {
				t.Errorf("%v: the gradient of input %d differs", p, i)
			}
			if in.Sums != nil && !slices.Equal(read(t, eng, in.Sums), biasGrad(t, eng, want, in.C)) {
				t.Errorf("%v: the sums of input %d differ", p, i)
			}
		}
	}
}

func TestSumsRefuseWhatDoesNotFit(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	x, y, c, d := filled(t, eng, 2, 3, 4, 5), filled(t, eng, 2, 3, 4, 5), filled(t, eng, 3), filled(t, eng, 5)
	part := filled(t, eng, 2, 1, 4, 5)
	for name, f := range map[string]struct {
		err  error
		want string
	}{
		"sums of other channels": {eng.ReLUGradSums(x, d, y, y), "cuda: relu gradient, summed: sums [5], want shape [3]"},
		"another shape":          {eng.ReLU6GradSums(x, c, y, part), "dx [2 3 4 5] and y [2 1 4 5] differ in shape"},
		"an unknown form":        {eng.GELUGradSums(x, c, y, y, 9), "form 9 is unknown"},
		"too few channels":       {eng.ConcatGrad([]engine.ConcatInput{{C: 1, DX: part}}, y, x), "cuda: concat gradient: dy [2 3 4 5], want the 1 channels of the inputs"},
		"no y":                   {eng.ConcatGrad([]engine.ConcatInput{{C: 3, Rectified: true}}, y, nil), "y is missing, and an input is rectified"},
		"sums of nothing":        {eng.ConcatGrad([]engine.ConcatInput{{C: 3, Sums: c}}, y, nil), "sums [3] are of no gradient"},
		"no channels":            {eng.ConcatGrad([]engine.ConcatInput{{}}, y, nil), "an input of 0 channels"},
		"in place":               {eng.ConcatGrad([]engine.ConcatInput{{C: 3, DX: y}}, y, nil), "share memory"},
	} {
		if f.err == nil || !strings.Contains(f.err.Error(), f.want) {
			t.Errorf("%s: %v, want %q", name, f.err, f.want)
		}
	}
}
