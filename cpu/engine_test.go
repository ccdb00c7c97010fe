package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

func TestVariantIsPicked(t *testing.T) {
	all := Variants()
	if !slices.Contains(all, "portable") {
		t.Fatalf("variants %v lack portable", all)
	}
	t.Setenv(Variable, "")
	if e := openEngine(t, "", 2); e.Name() != "cpu ("+all[0]+", 2 threads)" {
		t.Errorf("the best variant is %s, the engine is %q", all[0], e.Name())
	}
	t.Setenv(Variable, "portable")
	if e := openEngine(t, "", 1); e.Name() != "cpu (portable, 1 thread)" {
		t.Errorf("with %s=portable the engine is %q", Variable, e.Name())
	}
	if e := openEngine(t, all[0], 1); e.kernels.name != all[0] {
		t.Errorf("the option %s does not win over %s: %q", all[0], Variable, e.Name())
	}
	for _, name := range []string{"sse", "AVX2"} {
		t.Setenv(Variable, name)
		for _, o := range []Options{{Variant: name}, {}} {
			_, err := New(o)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) || !strings.Contains(err.Error(), strings.Join(all, ", ")) {
				t.Errorf("New(%+v) with %s=%s: error %v, want one that lists %v", o, Variable, name, err, all)
			}
		}
	}
	if _, err := New(Options{Threads: -1}); err == nil || !strings.Contains(err.Error(), "-1 threads") {
		t.Errorf("-1 threads: %v", err)
	}
}

// step is one of everything, large enough that work is split in all ways.
func step(t testing.TB, e *Engine) [][]float32 {
	rng := rand.New(rand.NewPCG(21, 22))
	var out [][]float32
	keep := func(xs ...engine.Tensor) {
		for _, x := range xs {
			out = append(out, read(t, e, x))
		}
	}
	spec := engine.SquareConv(3, 1, 1)
	x, w, y := put(t, e, rng, 6, 20, 17, 15), put(t, e, rng, 30, 20, 3, 3), put(t, e, rng, 6, 30, 17, 15)
	dx, dw, db := put(t, e, rng, 6, 20, 17, 15), put(t, e, rng, 30, 20, 3, 3), put(t, e, rng, 30)
	must(t, e.Conv(y, x, w, spec, engine.Epilogue{Shift: db, ReLU: true}))
	must(t, e.ConvGradInput(dx, y, w, spec))
	must(t, e.ConvGradWeights(dw, db, y, x, spec))
	keep(y, dx, dw, db)
	a, b, c := put(t, e, rng, 40, 5000), put(t, e, rng, 33, 5000), put(t, e, rng, 40, 33)
	must(t, e.MatMul(c, a, b, false, true, true))
	keep(c)
	p, gamma := put(t, e, rng, 30), put(t, e, rng, 30)
	mean, inv, rm, rv := put(t, e, rng, 30), put(t, e, rng, 30), put(t, e, rng, 30), put(t, e, rng, 30)
	z := put(t, e, rng, 6, 30, 17, 15)
	must(t, e.BatchNorm(z, mean, inv, rm, rv, y, gamma, p, 1e-5, 0.1))
	keep(z, mean, inv, rm, rv)
	must(t, e.BatchNormGrad(y, p, nil, z, z, gamma, mean, inv))
	keep(y, p)
	u, d, du := put(t, e, rng, 90, 70), put(t, e, rng, 90, 90), put(t, e, rng, 90, 70)
	for _, m := range metrics()[:4+draws(24)] {
		must(t, e.Pairwise(d, u, u, m))
		must(t, e.PairwiseGrad(du, du, d, d, u, u, m))
		keep(d, du)
	}
	s, err := e.SumSquares([]engine.Tensor{x, w, a})
	must(t, err)
	return append(out, []float32{float32(s), float32(s - float64(float32(s)))})
}

func TestResultsDoNotDependOnThreads(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		want := step(t, openEngine(t, variant, 1))
		for threads := 2; threads <= 4; threads++ {
			for i, got := range step(t, openEngine(t, variant, threads)) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%d threads: result %d differs from that of one", threads, i)
				}
			}
		}
	})
}

func TestSteadyStateAllocatesLittle(t *testing.T) {
	e := openEngine(t, "", 2)
	rng := rand.New(rand.NewPCG(23, 24))
	spec := engine.SquareConv(3, 1, 1)
	x, w, y := put(t, e, rng, 8, 32, 16, 16), put(t, e, rng, 64, 32, 3, 3), put(t, e, rng, 8, 64, 16, 16)
	u, d := put(t, e, rng, 100, 64), put(t, e, rng, 100, 100)
	du := put(t, e, rng, 100, 64)
	m := metric.Metric{Kind: metric.BRM, Restriction: metric.Sigmoid, P: 2}
	run := func() {
		must(t, e.Conv(y, x, w, spec, engine.Epilogue{ReLU: true}))
		must(t, e.ConvGradWeights(w, nil, y, x, spec))
		must(t, e.ConvGradInput(x, y, w, spec))
		must(t, e.Pairwise(d, u, u, m))
		must(t, e.PairwiseGrad(du, du, d, d, u, u, m))
		must(t, e.Zero(w))
	}
	for range 5 { // until every worker has met every kind of item
		run()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 20
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / runs; n > 64<<10 {
		t.Errorf("%d bytes allocated a step", n)
	}
}

func TestClosedEngineComputesAlone(t *testing.T) {
	e := openEngine(t, "", 3)
	want := step(t, e)
	must(t, e.Close())
	must(t, e.Close())
	for i, got := range step(t, e) {
		if !slices.Equal(got, want[i]) {
			t.Errorf("result %d differs after Close", i)
		}
	}
}

func TestPanicInAnItemReachesTheCaller(t *testing.T) {
	p := newPool(3)
	defer p.close()
	defer func() {
		if v := recover(); v != "seven" {
			t.Errorf("recovered %v", v)
		}
	}()
	p.run(100, func(_, i int) {
		if i == 7 {
			panic("seven")
		}
	})
	t.Error("no panic")
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	e := openEngine(t, "", 2)
	rng := rand.New(rand.NewPCG(25, 26))
	x, w := put(t, e, rng, 2, 3, 8, 8), put(t, e, rng, 4, 5, 3, 3)
	y := put(t, e, rng, 2, 4, 8, 8)
	a := put(t, e, rng, 3, 4)
	type foreign struct{ engine.Tensor }
	spec := engine.SquareConv(3, 1, 1)
	for _, c := range []struct {
		err  error
		want []string
	}{
		{e.Conv(y, x, w, spec, engine.Epilogue{}), []string{"conv", "w (4, 5, 3, 3)", "x (2, 3, 8, 8)", "want (4, 3, 3, 3)"}},
		{e.Conv(y, x, put(t, e, rng, 4, 3, 9, 9), engine.SquareConv(9, 1, 0), engine.Epilogue{}), []string{"conv", "9x9 kernel", "(2, 3, 8, 8)"}},
		{e.Conv(y, x, w, engine.ConvSpec{}, engine.Epilogue{}), []string{"conv", "kernel 0x0"}},
		{e.MatMul(a, a, a, false, false, false), []string{"matmul", "a (3, 4)", "b (3, 4)", "4 and 3"}},
		{e.MatMul(a, a, a, true, false, false), []string{"matmul", "c (3, 4)", "a (3, 4)^T", "want (4, 4)"}},
		{e.Add(a, a, nil), []string{"add", "b is nil"}},
		{e.Add(a, a, foreign{a}), []string{"add", "b is a cpu.foreign", "want a *cpu.Tensor"}},
		{e.Pairwise(a, a, put(t, e, rng, 4, 5), metric.Metric{Kind: metric.Dot}), []string{"pairwise", "b (4, 5)", "a (3, 4)"}},
		{e.Pairwise(a, a, a, metric.Metric{Kind: metric.BRM, P: 3}), []string{"pairwise", "p is 3"}},
		{e.RowNorm(a, a, engine.RowNormSpec{}), []string{"row norm", "share memory"}},
	} {
		if c.err == nil {
			t.Errorf("no error, want one with %q", c.want)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(c.err.Error(), w) {
				t.Errorf("error %q lacks %q", c.err, w)
			}
		}
	}
	for _, shape := range [][]int{{0}, {2, -1}, {1 << 40, 1 << 40}} {
		if _, err := e.New(shape...); err == nil || !strings.Contains(err.Error(), shapeString(shape)) {
			t.Errorf("New(%v): %v", shape, err)
		}
	}
}
