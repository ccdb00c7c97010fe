package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
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

func TestAValueCanBeReadIfNoOpReadsItOrItIsKept(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		name  string
		build func(g *layers.Graph, h *layers.Node)
		gone  bool
	}{
		{"no reader", func(g *layers.Graph, h *layers.Node) {}, false},
		{"a reader", func(g *layers.Graph, h *layers.Node) { g.ReLU("relu", h) }, true},
		{"kept", func(g *layers.Graph, h *layers.Node) { g.Keep(h); g.ReLU("relu", h) }, false},
		{"a reader in reverse", func(g *layers.Graph, h *layers.Node) {
			y := g.MaxPool("max", h, engine.SquarePool(2, 2, 0, false)) // its gradient reads h
			g.Backward(g.Pairwise("d", g.GlobalAvg("avg", y), g.Input("b", 1, 4), metric.Metric{Kind: metric.Dot}), g.Input("seed", 2, 1))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := layers.NewGraph(eng, layers.NewParams(eng, 1))
			defer g.Close()
			h := g.ConvModule("conv", g.Input("x", 2, 3, 6, 6), 4, engine.SquareConv(3, 1, 1), true)
			c.build(g, h)
			if g.Value(h) != nil {
				t.Error("there is a value before Compile")
			}
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			if got := g.Value(h) == nil; got != c.gone {
				t.Errorf("gone: %v, want %v", got, c.gone)
			}
		})
	}
}

// poisoned makes arenas full of NaN, so that a value which is read before it is
// written shows.
type poisoned struct{ engine.Engine }

func (p poisoned) Arena(bytes int64) (engine.Arena, error) {
	a, err := p.Engine.Arena(bytes)
	if err != nil || bytes < 4 {
		return a, err
	}
	all, err := a.Tensor(0, int(bytes/4))
	if err != nil {
		return nil, err
	}
	return a, p.Write(all, slices.Repeat([]float32{float32(math.NaN())}, int(bytes/4)))
}

// randomNetwork adds ops at random, with fan-outs, joins and residuals, to a
// loss on the distances of the embeddings.
func randomNetwork(eng engine.Engine, ps *layers.Params, seed uint64) (g *layers.Graph, x, loss *layers.Node) {
	rng := rand.New(rand.NewPCG(seed, 1))
	g = layers.NewGraph(eng, ps)
	x = g.Input("images", 3, 3, 8, 8)
	maps := []*layers.Node{g.ConvModule("stem", x, 4, engine.SquareConv(3, 1, 1), true)} // all (3, 4, 8, 8)
	pick := func() *layers.Node { return maps[max(0, len(maps)-1-rng.IntN(3))] }
	for i := range 4 + rng.IntN(10) {
		name := fmt.Sprintf("op%d", i)
		h := pick()
		switch rng.IntN(8) {
		case 0:
			h = g.ConvModule(name, h, 4, engine.SquareConv(3, 1, 1), rng.IntN(2) == 0)
		case 1:
			h = g.ReLU(name, h)
		case 2:
			h = g.BatchNormModule(name, h, 1e-3, .1, rng.IntN(2) == 0)
		case 3:
			h = g.Add(h, pick())
		case 4:
			h = g.MaxPool(name, h, engine.SquarePool(3, 1, 1, false))
		case 5:
			h = g.AvgPool(name, h, engine.SquarePool(3, 1, 1, false))
		case 6:
			h = g.ConvModule(name, g.Concat(name+" join", h, pick(), pick()), 4, engine.SquareConv(1, 1, 0), false)
		case 7:
			h = g.GELU(name, g.Scale(name+" scaled", h, 1.5), engine.GELUErf)
		}
		maps = append(maps, h)
	}
	last := maps[0]
	for _, h := range maps[1:] { // a gradient has to reach every parameter
		last = g.Add(last, h)
	}
	tokens := g.LayerNormModule("norm", g.TokensModule("tokens", g.Add(last, pick()), mixingTokenizer()), 1e-5)
	tokens = g.Add(tokens, g.SelfAttentionModule("attention", tokens, 2))
	tokens = g.TransformerBlockModule("block", tokens, layers.TransformerBlock{Heads: 2, Hidden: 6, Eps: 1e-5, GELU: engine.GELUQuick, LayerScale: true, DropPath: .5})
	e := g.Add(g.LinearModule("embedding", g.GlobalAvg("pool", last), 4), g.Token("class", tokens, 0))
	e = g.RowNorm("unit", e, engine.RowNormSpec{Scale: 1, Eps: 1e-12})
	loss = g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
		sum := 0.
		for i, d := range v[0] {
			w := math.Cos(float64(i))
			sum += w * d
			grads[0][i] = w
		}
		return sum, nil
	}, g.Pairwise("distance", e, e, metric.Metric{Kind: metric.BRM, P: 2}))
	return g, x, loss
}

// Values that share memory must give what values with a place each give, to the
// last bit, also in a second run over what the first has left.
func TestSharingMemoryChangesNoBitOfRandomNetworks(t *testing.T) {
	eng := newEngine(t)
	less := 0
	for seed := range uint64(40) {
		run := func(eng engine.Engine, keep bool) (results [][]float32, bytes int64) {
			ps := layers.NewParams(eng, seed)
			g, x, loss := randomNetwork(eng, ps, seed)
			defer g.Close()
			if seed%4 != 0 { // every fourth is forward only
				g.Backward(loss, nil)
			}
			if keep {
				for _, n := range g.Nodes() {
					g.Keep(n)
				}
			}
			if err := g.Compile(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for step := range uint64(2) {
				fill(t, eng, g.Value(x), 7+step)
				if err := g.Run(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				results = append(results, read(t, eng, g.Value(loss)))
				for _, p := range ps.All() {
					if grad := g.ParamGrad(p); grad != nil {
						results = append(results, read(t, eng, grad))
					}
				}
			}
			u := g.Usage()
			if u.Alive > u.Arena || u.Arena > u.Sum {
				t.Errorf("seed %d: %+v: want Alive <= Arena <= Sum", seed, u)
			}
			if !keep && u.Arena < u.Sum*3/4 {
				less++
			}
			return results, u.Arena
		}
		apart, more := run(eng, true)
		shared, bytes := run(poisoned{eng}, false)
		if bytes >= more {
			t.Errorf("seed %d: sharing takes %d bytes, %d without", seed, bytes, more)
		}
		if len(apart) != len(shared) {
			t.Fatalf("seed %d: %d results, want %d", seed, len(shared), len(apart))
		}
		for i := range apart {
			if !slices.Equal(apart[i], shared[i]) {
				t.Errorf("seed %d: result %d differs: %v, want %v", seed, i, shared[i][:min(8, len(shared[i]))], apart[i][:min(8, len(apart[i]))])
			}
		}
	}
	if less < 30 {
		t.Errorf("only %d of 40 networks take a quarter less", less)
	}
}

// A deep network in inference needs room for a few maps, not for all.
func TestForwardOnlyMemoryDoesNotGrowWithDepth(t *testing.T) {
	eng := newEngine(t)
	bytes := func(depth int) int64 {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		h := g.Input("x", 2, 8, 16, 16)
		for i := range depth {
			h = g.ReLU(fmt.Sprint("relu", i), g.ConvModule(fmt.Sprint("conv", i), h, 8, engine.SquareConv(3, 1, 1), true))
		}
		g.GlobalAvg("pool", h)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		return g.Bytes()
	}
	if few, many := bytes(3), bytes(30); few != many {
		t.Errorf("%d bytes for 3 layers, %d for 30", few, many)
	}
}

// What is left are the tape machine's own few small objects an op: the list of
// its inputs and the wrapped result. 1 KiB an op is far below any map.
func TestAStepAllocatesNothingButTheMachinesSmallObjects(t *testing.T) {
	eng, err := cpu.New(cpu.Options{Threads: 1}) // a worker's buffers grow when it first gets work, in whichever step
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	g, x, loss := network(eng, layers.NewParams(eng, 3), 32, true)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fill(t, eng, g.Value(x), 1)
	run := func() {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	run() // the engine's workspaces grow in the first step
	ops := float64(len(g.Nodes()))
	if n := testing.AllocsPerRun(10, run) / ops; n > 16 {
		t.Errorf("%.1f allocations an op", n)
	} else {
		t.Logf("%.1f allocations an op", n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if n := float64(after.TotalAlloc-before.TotalAlloc) / ops; n > 2048 {
		t.Errorf("%.0f bytes an op", n)
	} else {
		t.Logf("%.0f bytes an op", n)
	}
}
