package layers_test

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// The gradient of p is also what flows on to x through the rectifier, which
// would write over it: the value of a gradient must survive.
func TestAGradientThatIsSharedIsNotWrittenOver(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	defer g.Close()
	x := g.Input("x", 2, 3)
	g.NeedGrad(x)
	p := g.Param("p", layers.Weight, layers.Constant(1), 2, 3)
	y := g.Add(g.ReLU("relu", x), p)
	seed := g.Input("seed", 2, 3)
	g.Backward(y, seed)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	write := func(n *layers.Node, v ...float32) {
		t.Helper()
		if err := eng.Write(g.Value(n), v); err != nil {
			t.Fatal(err)
		}
	}
	write(x, -1, 2, -3, 4, -5, 6)
	write(seed, 1, 2, 3, 4, 5, 6)
	for range 2 { // the second run starts from what the first has left
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, eng, g.ParamGrad(ps.Get("p"))), []float32{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
			t.Errorf("gradient of p: %v, want %v", got, want)
		}
		if got, want := read(t, eng, g.Value(g.GradOf(x))), []float32{0, 2, 0, 4, 0, 6}; !slices.Equal(got, want) {
			t.Errorf("gradient of x: %v, want %v", got, want)
		}
		if got, want := read(t, eng, g.Value(y)), []float32{1, 3, 1, 5, 1, 7}; !slices.Equal(got, want) {
			t.Errorf("value: %v, want %v", got, want)
		}
	}
}

func TestAValueIsWrittenOverOnlyIfNobodyReadsIt(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		name  string
		build func(g *layers.Graph, h *layers.Node)
		gone  bool
	}{
		{"one reader", func(g *layers.Graph, h *layers.Node) { g.ReLU("relu", h) }, true},
		{"two readers", func(g *layers.Graph, h *layers.Node) { g.ReLU("relu", h); g.GlobalAvg("avg", h) }, false},
		{"kept", func(g *layers.Graph, h *layers.Node) { g.Keep(h); g.ReLU("relu", h) }, false},
		{"read in reverse", func(g *layers.Graph, h *layers.Node) {
			y := g.MaxPool("max", h, layers.SquarePool(2, 2, 0, false))
			y = g.ReLU("relu", y) // the pool's gradient reads the pool's output
			g.Backward(g.Pairwise("d", g.GlobalAvg("avg", y), g.Input("b", 1, 4), layers.Metric{Kind: layers.Dot}), g.Input("seed", 2, 1))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := layers.NewGraph(eng, layers.NewParams(eng, 1))
			defer g.Close()
			h := g.ConvModule("conv", g.Input("x", 2, 3, 6, 6), 4, layers.SquareConv(3, 1, 1), true)
			c.build(g, h)
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			if got := g.Value(h) == nil; got != c.gone {
				t.Errorf("written over: %v, want %v", got, c.gone)
			}
		})
	}
}

func TestWritingOverSavesMemoryAndChangesNoBit(t *testing.T) {
	eng := newEngine(t)
	run := func(keep bool) (grads [][]float32, bytes int64) {
		ps := layers.NewParams(eng, 3)
		g, x, loss := network(eng, ps, 4, true)
		defer g.Close()
		g.Backward(loss, nil)
		if keep {
			for _, n := range g.Nodes() {
				g.Keep(n)
			}
		}
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		fill(t, eng, g.Value(x), 7)
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		for _, p := range ps.All() {
			if p.Trainable() {
				grads = append(grads, read(t, eng, g.ParamGrad(p)))
			}
		}
		return grads, g.Bytes()
	}
	a, more := run(true)
	b, less := run(false)
	if less >= more {
		t.Errorf("%d bytes with writing over, %d without", less, more)
	}
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			t.Errorf("gradient %d differs", i)
		}
	}
}
