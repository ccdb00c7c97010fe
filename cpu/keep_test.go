package cpu

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
)

func TestKeptWeightsFollowEveryOperation(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		enginetest.ChangedWeights(t, func(t *testing.T) engine.Engine { return openEngine(t, variant, 1) }, func(t *testing.T, e engine.Engine) {
			if e.(*Engine).keeper.held() == 0 {
				t.Fatal("nothing is kept after three products")
			}
		})
	})
}

// keptProducts are products whose weights are kept, of all forms.
func keptProducts(t testing.TB, e *Engine, rng *rand.Rand) []func() []float32 {
	var list []func() []float32
	for _, c := range []struct {
		images, in, size, out int
		spec                  engine.ConvSpec
	}{
		{1, 300, 14, 70, engine.SquareConv(1, 1, 0)},
		{2, 40, 9, 200, engine.SquareConv(3, 2, 1)},
		{1, 600, 7, 100, engine.SquareConv(1, 1, 0)},
		{1, 30, 7, 33, engine.SquareConv(3, 1, 1)},
		{2, 32, 28, 40, engine.SquareConv(3, 1, 1)},
		{3, 20, 17, 24, engine.ConvSpec{KernelH: 1, KernelW: 7, StrideH: 1, StrideW: 1, PadW: 3}},
	} {
		ho, wo := c.spec.OutSize(c.size, c.size)
		x, w, shift := put(t, e, rng, c.images, c.in, c.size, c.size), put(t, e, rng, c.out, c.in, c.spec.KernelH, c.spec.KernelW), put(t, e, rng, c.out)
		y, residual := put(t, e, rng, c.images, c.out, ho, wo), put(t, e, rng, c.images, c.out, ho, wo)
		list = append(list, func() []float32 {
			must(t, e.Conv(y, x, w, c.spec, engine.Epilogue{Shift: shift, Residual: residual, ReLU: true}))
			return read(t, e, y)
		})
	}
	for _, c := range [][3]int{{197, 96, 72}, {40, 2300, 65}, {1576, 384, 384}, {3, 50, 31}} {
		x, w, b, y := put(t, e, rng, 1, c[0], c[1]), put(t, e, rng, c[2], c[1]), put(t, e, rng, c[2]), put(t, e, rng, 1, c[0], c[2])
		list = append(list, func() []float32 {
			must(t, e.Linear(y, x, w, b))
			return read(t, e, y)
		})
	}
	return list
}

func TestKeptWeightsGiveTheSameBits(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, threads := range []int{1, 3} {
			e := openEngine(t, variant, threads)
			for i, product := range keptProducts(t, e, rand.New(rand.NewPCG(5, 6))) {
				before := e.keeper.held()
				want := slices.Clone(product())
				for range 2 {
					if got := product(); !slices.Equal(got, want) {
						t.Errorf("%d threads, product %d: kept weights give other bits", threads, i)
					}
				}
				if e.keeper.held() == before {
					t.Errorf("product %d keeps nothing", i)
				}
			}
		}
	})
}

func TestKeptWeightsAreGivenBack(t *testing.T) {
	e := openEngine(t, "", 2)
	rng := rand.New(rand.NewPCG(7, 8))
	x, w, y := put(t, e, rng, 4, 300), put(t, e, rng, 2000, 300), put(t, e, rng, 4, 2000)
	use := func() {
		for range 3 {
			must(t, e.Linear(y, x, w, nil))
		}
	}
	use()
	n, before := e.keeper.held(), e.Workspace()
	if want := int64(4 * 300 * roundUp(2000, e.kernels.nr)); n != want {
		t.Errorf("%d bytes are kept, want %d", n, want)
	}
	must(t, e.Write(w, make([]float32, 2000*300)))
	if e.keeper.held() != 0 || e.Workspace() != before-n {
		t.Errorf("%d bytes are kept of weights that were written, workspace %d, was %d", e.keeper.held(), e.Workspace(), before)
	}
	if use(); e.keeper.held() != n {
		t.Errorf("%d bytes are kept after the next products, want %d", e.keeper.held(), n)
	}
	w = nil
	for range 100 { // cleanups run some time after a collection
		if runtime.GC(); e.keeper.held() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if e.keeper.held() != 0 {
		t.Errorf("%d bytes are kept of weights that are gone", e.keeper.held())
	}
}

func TestAnEngineThatLearnsKeepsNoWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for what, learn := range map[string]func(t *testing.T, e *Engine) error{
		"linear": func(t *testing.T, e *Engine) error {
			return e.LinearGrad(nil, put(t, e, rng, 2, 3), nil, put(t, e, rng, 4, 2), put(t, e, rng, 4, 3), put(t, e, rng, 2, 3))
		},
		"convolution": func(t *testing.T, e *Engine) error {
			return e.ConvGradWeights(put(t, e, rng, 2, 3, 1, 1), nil, put(t, e, rng, 1, 2, 4, 4), put(t, e, rng, 1, 3, 4, 4), engine.SquareConv(1, 1, 0))
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := openEngine(t, "", 2)
			x, w, y := put(t, e, rng, 4, 30), put(t, e, rng, 20, 30), put(t, e, rng, 4, 20)
			for _, step := range []string{"before", "after"} {
				for range 3 {
					must(t, e.Linear(y, x, w, nil))
				}
				if kept := e.keeper.held() > 0; kept != (step == "before") {
					t.Errorf("%s the first gradient %d bytes are kept", step, e.keeper.held())
				}
				must(t, learn(t, e))
			}
		})
	}
}

// Memory that others can write is not kept: that of an arena, and what a view shows.
func TestWeightsThatOthersMayWriteAreNotKept(t *testing.T) {
	e := openEngine(t, "", 1)
	rng := rand.New(rand.NewPCG(11, 12))
	x, y := put(t, e, rng, 4, 30), put(t, e, rng, 4, 20)
	a, err := e.Arena(1 << 16)
	must(t, err)
	inArena, err := a.Tensor(0, 20, 30)
	must(t, err)
	must(t, e.Zero(inArena))
	viewed := put(t, e, rng, 20, 30)
	if _, err := e.View(viewed); err != nil {
		t.Fatal(err)
	}
	for i, w := range []engine.Tensor{inArena, viewed} {
		for range 3 {
			must(t, e.Linear(y, x, w, nil))
		}
		if n := e.keeper.held(); n != 0 {
			t.Errorf("tensor %d: %d bytes are kept", i, n)
		}
	}
	must(t, a.Close())
}

// What an image gives does not depend on the images beside it, where the terms of a product are not
// cut: a product of few places adds up and ends as one of many does.
func TestAnImageAloneGivesTheSameBits(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		e := openEngine(t, variant, 2)
		rng := rand.New(rand.NewPCG(13, 14))
		const images, in, size, out = 40, 500, 7, 2 * 32
		spec := engine.SquareConv(1, 1, 0)
		x, y := put(t, e, rng, images, in, size, size), put(t, e, rng, images, out, size, size)
		one, alone := put(t, e, rng, 1, in, size, size), put(t, e, rng, 1, out, size, size)
		w, scale, shift := put(t, e, rng, out, in, 1, 1), put(t, e, rng, out), put(t, e, rng, out)
		must(t, e.Write(one, read(t, e, x)[:in*size*size]))
		ep := engine.Epilogue{Scale: scale, Shift: shift, ReLU: true}
		must(t, e.Conv(y, x, w, spec, ep))
		must(t, e.Conv(alone, one, w, spec, ep))
		if !slices.Equal(read(t, e, alone), read(t, e, y)[:out*size*size]) {
			t.Error("a convolution of one image differs from that of 40")
		}
	})
}
