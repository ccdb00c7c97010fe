package layers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// results are the loss, all gradients and all running statistics after each of two runs.
func results(t *testing.T, eng engine.Engine, build func(g *layers.Graph, x *layers.Node) *layers.Node, shape ...int) (list map[string][]float32, bytes int64) {
	t.Helper()
	ps := layers.NewParams(eng, 5)
	g := layers.NewGraph(eng, ps)
	defer g.Close()
	x := g.Input("images", shape...)
	g.NeedGrad(x)
	out := build(g, x)
	if out == nil {
		t.Fatal(g.Err())
	}
	seed := g.Input("seed", out.Shape()...)
	g.Keep(out)
	g.Backward(out, seed)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	list = map[string][]float32{}
	for step := range uint64(2) {
		fill(t, eng, g.Value(x), 7+step)
		fill(t, eng, g.Value(seed), 17+step)
		if err := g.DrawDropout(3, step, 0); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		list[fmt.Sprint("output ", step)] = read(t, eng, g.Value(out))
		list[fmt.Sprint("input ", step)] = read(t, eng, g.Value(g.GradOf(x)))
		for _, p := range ps.All() {
			if grad := g.ParamGrad(p); grad != nil {
				list[fmt.Sprint(p.Name, " ", step)] = read(t, eng, grad)
			}
			if p.Role == layers.Buffer {
				list[fmt.Sprint(p.Name, " ", step)] = read(t, eng, p.Value)
			}
		}
	}
	return list, g.Bytes()
}

// parts are blocks of every kind of op that a network has.
func parts() map[string]func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	return map[string]func(g *layers.Graph, name string, x *layers.Node) *layers.Node{
		"residual, statistics of the batch": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			y := g.ReLU(name+".relu1", g.BatchNormModule(name+".bn1", g.ConvModule(name+".conv1", x, 16, engine.SquareConv(3, 1, 1), false), 1e-5, .1, false))
			y = g.BatchNormModule(name+".bn2", g.ConvModule(name+".conv2", y, 8, engine.SquareConv(3, 1, 1), false), 1e-5, .1, false)
			return g.ReLU(name+".relu2", g.Add(y, x))
		},
		"residual, frozen statistics": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			c := layers.ConvNorm{Name: name + ".conv1", NormName: name + ".bn1", ReLUName: name + ".relu1", Out: 16, Spec: engine.SquareConv(3, 1, 1), Eps: 1e-5, FrozenStats: true}
			y := g.ConvNormModule(c, x, nil)
			c.Name, c.NormName, c.Out = name+".conv2", name+".bn2", 8
			return g.ConvNormModule(c, y, x)
		},
		"joined branches": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			c := layers.ConvNorm{Name: name + ".conv1", NormName: name + ".bn1", ReLUName: name + ".relu1", Out: 8, Spec: engine.SquareConv(3, 1, 1), Eps: 1e-5, FrozenStats: true}
			a := g.ConvNormModule(c, x, nil)
			c.Name, c.NormName = name+".conv2", name+".bn2"
			b := g.ConvNormModule(c, g.MaxPool(name+".max", x, engine.SquarePool(3, 1, 1, false)), nil)
			y := g.Concat(name+".join", a, b, g.AvgPool(name+".avg", a, engine.SquarePool(3, 1, 1, false)))
			return g.ReLU6(name+".relu6", g.ConvModule(name+".conv3", y, 8, engine.SquareConv(1, 1, 0), true))
		},
		"depthwise, dropped paths": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			s, each := x.Shape(), engine.SquareConv(3, 1, 1)
			each.Depthwise = true
			y := g.Tokens(name+".places", g.ConvModule(name+".conv", x, s[1], each, true), nil, nil)
			y = g.LayerNormModule(name+".norm", y, 1e-6)
			y = g.GELU(name+".act", g.TokenLinearModule(name+".fc1", y, 32), engine.GELUErf)
			y = g.DropPath(name+".path", g.ScaledLinearModule(name+".fc2", name+".scale", y, s[1]), .4)
			return g.Add(x, g.Map(name+".map", y, s[2], s[3]))
		},
		"transformer": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			s := x.Shape()
			y := g.Tokens(name+".places", x, nil, nil)
			y = g.TransformerBlockModule(name, y, layers.TransformerBlock{Heads: 2, Hidden: 32, Eps: 1e-6, GELU: engine.GELUTanh})
			y = g.TransformerBlockModule(name+".more", y, layers.TransformerBlock{Heads: 2, Hidden: 32, Eps: 1e-6, GELU: engine.GELUQuick, LayerScale: true, DropPath: .3})
			return g.Dropout(name+".dropout", g.Map(name+".map", y, s[2], s[3]), .2)
		},
		"geometry flow": func(g *layers.Graph, name string, x *layers.Node) *layers.Node {
			y := g.ConvModule(name+".conv", x, 8, engine.SquareConv(3, 1, 1), true)
			flow := layers.DefaultFlow()
			flow.Full = true
			return g.Add(x, g.GeometryFlow(name+".flow", y, g.ReLU(name+".relu", y), flow))
		},
	}
}

// What is computed again is what was forgotten, to the last bit, over memory that is full of
// NaN, and takes less of it.
func TestRecomputationGivesTheSameBitsInLessMemory(t *testing.T) {
	eng := newEngine(t)
	const blocks = 6
	for what, part := range parts() {
		t.Run(what, func(t *testing.T) {
			network := func(together int) func(g *layers.Graph, x *layers.Node) *layers.Node {
				return func(g *layers.Graph, x *layers.Node) *layers.Node {
					for i := 0; i < blocks; i += max(together, 1) {
						add := func() *layers.Node {
							y := x
							for j := i; j < min(blocks, i+max(together, 1)); j++ {
								y = part(g, fmt.Sprint("block", j), y)
							}
							return y
						}
						if together == 0 {
							x = add()
						} else {
							x = g.Recompute(add)
						}
					}
					return x
				}
			}
			want, most := results(t, eng, network(0), 3, 8, 8, 8)
			for together := 1; together <= blocks; together++ {
				got, bytes := results(t, poisoned{eng}, network(together), 3, 8, 8, 8)
				if len(got) != len(want) {
					t.Fatalf("%d together: %d results, want %d", together, len(got), len(want))
				}
				for name := range want {
					if !slices.Equal(got[name], want[name]) {
						t.Errorf("%d together: %s differs: %v, want %v", together, name, got[name][:4], want[name][:4])
					}
				}
				if together < blocks && bytes >= most {
					t.Errorf("%d together: %d bytes, %d without", together, bytes, most)
				}
			}
		})
	}
}

// A part of which nothing is trained is computed once, and what is trained behind it starts
// from what is kept of it.
func TestFrozenPartsAreNotComputedAgain(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	build := func(recompute bool) int {
		g := layers.NewGraph(eng, ps)
		x := g.Input("images", 2, 3, 8, 8)
		for i := range 4 {
			add := func() *layers.Node {
				y := g.ConvModule(fmt.Sprintf("block%d.conv1", i), x, 4, engine.SquareConv(3, 1, 1), true)
				return g.ReLU("relu", g.ConvModule(fmt.Sprintf("block%d.conv2", i), g.ReLU("relu", y), 3, engine.SquareConv(3, 1, 1), true))
			}
			if recompute {
				x = g.Recompute(add)
			} else {
				x = add()
			}
		}
		g.Backward(x, g.Input("seed", x.Shape()...))
		if err := g.Err(); err != nil {
			t.Fatal(err)
		}
		return len(g.Nodes())
	}
	build(false) // makes the parameters
	// A gradient reads both outputs of the ReLUs; the last one is kept: a convolution and a
	// ReLU come again.
	if plain, again := build(false), build(true); again-plain != 4*2 {
		t.Errorf("%d of %d ops are added again, want 8", again-plain, plain)
	}
	for _, p := range ps.All() {
		p.Frozen = p.Name < "block2"
	}
	if plain, again := build(false), build(true); again-plain != 2*2 {
		t.Errorf("%d of %d ops are added again behind what is frozen, want 4", again-plain, plain)
	}
}
