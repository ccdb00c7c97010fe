package layers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// dropped builds sum-free dropout of rows x with a gradient of its own.
func dropped(t *testing.T, eng engine.Engine, rows, width int, rate float64) (g *layers.Graph, x, y, dy *layers.Node) {
	t.Helper()
	g = layers.NewGraph(eng, layers.NewParams(eng, 1))
	x = g.Input("x", rows, width)
	g.NeedGrad(x)
	y = g.Dropout("drop", x, rate)
	dy = g.Input("dy", rows, width)
	g.Keep(y)
	g.Backward(y, dy)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g, x, y, dy
}

func TestDropoutKeepsItsShareAndDividesByIt(t *testing.T) {
	eng := newEngine(t)
	const rows, width, rate = 64, 501, 0.25
	g, x, y, dy := dropped(t, eng, rows, width, rate)
	in, din := fill(t, eng, g.Value(x), 1), fill(t, eng, g.Value(dy), 2)
	if err := g.Run(); err != nil { // before any draw nothing is dropped
		t.Fatal(err)
	}
	for i, v := range read(t, eng, g.Value(y)) {
		if want := in[i] / (1 - rate); math.Abs(float64(v-want)) > 1e-6 {
			t.Fatalf("number %d is %v without a draw, want %v", i, v, want)
		}
	}
	if err := g.DrawDropout(7, 3, 0); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	out, dx := read(t, eng, g.Value(y)), read(t, eng, g.Value(g.GradOf(x)))
	kept := 0
	for i := range out {
		scale := float32(0)
		if out[i] != 0 {
			kept++
			scale = 1 / (1 - rate)
		}
		// The function is linear in x: its gradient is the factor.
		if math.Abs(float64(out[i]-scale*in[i])) > 1e-6 || math.Abs(float64(dx[i]-scale*din[i])) > 1e-6 {
			t.Fatalf("number %d: %v of %v, gradient %v of %v, want the factor %v in both", i, out[i], in[i], dx[i], din[i], scale)
		}
	}
	n := float64(rows * width)
	if share, sigma := float64(kept)/n, math.Sqrt(rate*(1-rate)/n); math.Abs(share-(1-rate)) > 4*sigma {
		t.Errorf("%v of the numbers are kept, want %v within %v", share, 1-rate, 4*sigma)
	}
}

func TestDropoutIsAFunctionOfSeedStepAndRow(t *testing.T) {
	eng := newEngine(t)
	const width = 40
	masks := func(rows int, seed, step uint64, first int) []float32 {
		g, x, y, _ := dropped(t, eng, rows, width, 0.5)
		ones := make([]float32, rows*width)
		for i := range ones {
			ones[i] = 1
		}
		if err := eng.Write(g.Value(x), ones); err != nil {
			t.Fatal(err)
		}
		if err := g.DrawDropout(seed, step, first); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		return read(t, eng, g.Value(y))
	}
	whole := masks(6, 1, 9, 0)
	if !slices.Equal(whole, masks(6, 1, 9, 0)) {
		t.Error("the same step draws something else the second time")
	}
	if part := masks(2, 1, 9, 4); !slices.Equal(whole[4*width:], part) {
		t.Error("the last two rows as a part of their own draw something else than in the whole batch")
	}
	for name, other := range map[string][]float32{"seed": masks(6, 2, 9, 0), "step": masks(6, 1, 10, 0), "row": masks(6, 1, 9, 6)} {
		same := 0
		for i := range other {
			if whole[i] == other[i] {
				same++
			}
		}
		if n := len(other); same < n*3/8 || same > n*5/8 {
			t.Errorf("another %s agrees in %d of %d numbers, want about half", name, same, n)
		}
	}
}

func TestDropoutRefusesARateThatIsNone(t *testing.T) {
	eng := newEngine(t)
	for _, rate := range []float64{-0.1, 1, math.NaN()} {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		g.Dropout("drop", g.Input("x", 2, 3), rate)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "drop: the rate of dropout is") {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	if x := g.Input("x", 2, 3); g.Dropout("drop", x, 0) != x {
		t.Error("a rate of 0 adds an op")
	}
}
