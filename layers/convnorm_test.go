package layers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// fusable is a network of convolutions with frozen normalizations: a residual of
// the same shape, one that is projected, one that is the convolution's own input,
// and branches that join, one of them a pooling.
func fusable(eng engine.Engine, ps *layers.Params, unfused, seeded bool) (g *layers.Graph, x, y *layers.Node) {
	g = layers.NewGraph(eng, ps)
	if unfused {
		g.Unfused()
	}
	conv := func(name string, x, residual *layers.Node, out, kernel int, bias, relu bool) *layers.Node {
		c := layers.ConvNorm{Name: name, NormName: name + ".bn", Out: out, Spec: engine.SquareConv(kernel, 1, kernel/2), Bias: bias, Eps: 1e-3, Momentum: .1, FrozenStats: true}
		if relu {
			c.ReLUName = name + ".relu"
		}
		return g.ConvNormModule(c, x, residual)
	}
	x = g.Input("images", 3, 3, 9, 8)
	if seeded {
		g.NeedGrad(x)
	}
	h := conv("stem", x, nil, 6, 3, true, true)
	h = conv("same", conv("inner", h, nil, 6, 3, false, true), h, 6, 1, true, true)
	h = conv("projected", h, conv("down", h, nil, 8, 1, false, false), 8, 3, false, true)
	h = conv("own", h, h, 8, 3, true, true)
	channels := engine.SquareConv(3, 1, 1)
	channels.Depthwise = true
	h = g.ConvNormModule(layers.ConvNorm{Name: "channels", NormName: "channels.bn", ReLUName: "channels.relu6", ReLU6: true, Out: 8, Spec: channels, Eps: 1e-3, FrozenStats: true}, h, nil)
	a := conv("a", h, nil, 5, 1, true, true)
	b := conv("b", conv("b1", h, nil, 4, 1, true, true), nil, 7, 3, true, true)
	c := conv("c", h, nil, 3, 1, true, false) // joins without ReLU
	d := g.MaxPool("d", h, engine.SquarePool(3, 1, 1, false))
	h = g.Concat("join", a, b, c, d)
	h = g.Add(h, conv("after", h, nil, 23, 1, false, false))
	y = g.LinearModule("embedding", g.GlobalAvg("pool", h), 4)
	return g, x, y
}

// spread fills parameters with numbers as trained networks have them, some gains
// 0 and some negative.
func spread(t *testing.T, eng engine.Engine, ps *layers.Params) {
	t.Helper()
	for i, p := range ps.All() {
		v := read(t, eng, p.Value)
		noise := fill(t, eng, mustNew(t, eng, p.Value.Shape()), uint64(100+i))
		for j := range v {
			switch {
			case strings.HasSuffix(p.Name, "running_var"):
				v[j] = .5 + noise[j]*noise[j]
			case p.Role == layers.NormGain:
				v[j] = noise[j]
				if j == 1 {
					v[j] = 0
				}
			case p.Role != layers.Weight:
				v[j] = noise[j]
			}
		}
		if err := eng.Write(p.Value, v); err != nil {
			t.Fatal(err)
		}
	}
}

func within(t *testing.T, what string, got, want []float32, limit float64) {
	t.Helper()
	most, size := 0., 0.
	for i := range want {
		most = max(most, math.Abs(float64(got[i]-want[i])))
		size = max(size, math.Abs(float64(want[i])))
	}
	if !(most <= limit*size) {
		t.Errorf("%s differs by %.2g of at most %.2g", what, most, size)
	}
}

func TestAFusedConvolutionIsItsLayers(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		name   string
		frozen func(name string) bool
	}{
		{"everything is trained", func(string) bool { return false }},
		{"gamma and beta are frozen", func(n string) bool { return strings.Contains(n, ".bn.") }},
		{"weights are frozen", func(n string) bool {
			return strings.HasSuffix(n, ".weight") && !strings.Contains(n, ".bn.") && n != "embedding.weight"
		}},
		{"only gamma", func(n string) bool { return !strings.HasSuffix(n, ".bn.weight") && n != "embedding.weight" }},
		{"only beta", func(n string) bool { return !strings.HasSuffix(n, ".bn.bias") && n != "embedding.weight" }},
		{"only biases", func(n string) bool { return !strings.HasSuffix(n, ".bias") || strings.Contains(n, ".bn.") }},
		{"the first half is frozen", func(n string) bool {
			return strings.HasPrefix(n, "stem") || strings.HasPrefix(n, "same") || strings.HasPrefix(n, "inner")
		}},
	} {
		for _, seeded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gradient of images %v", c.name, seeded), func(t *testing.T) {
				ps := layers.NewParams(eng, 3)
				fusable(eng, ps, false, false)
				for _, p := range ps.All() {
					p.Frozen = c.frozen(p.Name)
				}
				spread(t, eng, ps)
				type result struct {
					dx    []float32
					grads map[string][]float32
					ops   int
				}
				run := func(unfused bool) (r result) {
					g, x, y := fusable(eng, ps, unfused, seeded)
					seed := g.Input("seed", y.Shape()...)
					g.Backward(y, seed)
					if err := g.Compile(); err != nil {
						t.Fatal(err)
					}
					defer g.Close()
					fill(t, eng, g.Value(x), 7)
					fill(t, eng, g.Value(seed), 8)
					if err := g.Run(); err != nil {
						t.Fatal(err)
					}
					r.grads = map[string][]float32{}
					for _, p := range ps.All() {
						if grad := g.ParamGrad(p); grad != nil {
							r.grads[p.Name] = read(t, eng, grad)
						}
					}
					if seeded {
						r.dx = read(t, eng, g.Value(g.GradOf(x)))
					}
					r.ops = len(g.Nodes())
					return r
				}
				fused, apart := run(false), run(true)
				if fused.ops == apart.ops {
					t.Error("nothing was fused")
				}
				if len(fused.grads) != len(apart.grads) || len(fused.grads) == 0 {
					t.Fatalf("%d gradients, want %d", len(fused.grads), len(apart.grads))
				}
				for name, want := range apart.grads {
					if fused.grads[name] == nil {
						t.Errorf("%s has no gradient", name)
						continue
					}
					within(t, "gradient of "+name, fused.grads[name], want, 1e-5)
				}
				if seeded {
					within(t, "gradient of the images", fused.dx, apart.dx, 1e-5)
				}
			})
		}
	}
}

func TestAFusedConvolutionTakesLessMemory(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	var u [2]layers.Usage
	for i, unfused := range []bool{false, true} {
		g, _, y := fusable(eng, ps, unfused, false)
		g.Backward(y, g.Input("seed", y.Shape()...))
		u[i] = g.Usage()
	}
	if u[0].Arena == 0 || u[0].Arena > u[1].Arena*3/4 {
		t.Errorf("%d bytes fused, %d apart", u[0].Arena, u[1].Arena)
	}
}

// A running mean far from 0 makes the two parts of gamma's gradient cancel.
func TestTheGradientOfGammaHoldsFarFromZero(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	fusable(eng, ps, false, false)
	spread(t, eng, ps)
	mean := ps.Get("stem.bn.running_mean")
	if err := eng.Write(mean.Value, []float32{30, -30, 20, 10, -10, 50}); err != nil {
		t.Fatal(err)
	}
	if err := eng.Write(ps.Get("stem.bias").Value, []float32{31, -29, 20, 9, -11, 50}); err != nil {
		t.Fatal(err)
	}
	var grads [2][]float32
	for i, unfused := range []bool{false, true} {
		g, x, y := fusable(eng, ps, unfused, false)
		seed := g.Input("seed", y.Shape()...)
		g.Backward(y, seed)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		fill(t, eng, g.Value(x), 7)
		fill(t, eng, g.Value(seed), 8)
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		grads[i] = read(t, eng, g.ParamGrad(ps.Get("stem.bn.weight")))
	}
	within(t, "gradient of gamma", grads[0], grads[1], 1e-5)
}

func TestMistakesInAFusedConvolutionNameIt(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		name  string
		build func(g *layers.Graph, conv layers.ConvNorm)
		want  string
	}{
		{"a kernel that does not fit", func(g *layers.Graph, conv layers.ConvNorm) {
			g.ConvNormModule(conv, g.Input("x", 1, 3, 2, 2), nil)
		}, "5x5"},
		{"rows instead of a map", func(g *layers.Graph, conv layers.ConvNorm) { g.ConvNormModule(conv, g.Input("x", 1, 3), nil) }, "(1, 3)"},
		{"a residual of another shape", func(g *layers.Graph, conv layers.ConvNorm) {
			g.ConvNormModule(conv, g.Input("x", 1, 3, 6, 6), g.Input("r", 1, 4, 6, 6))
		}, "(1, 4, 6, 6)"},
		{"no input", func(g *layers.Graph, conv layers.ConvNorm) { g.ConvNormModule(conv, nil, nil) }, "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := layers.NewGraph(eng, layers.NewParams(eng, 1))
			c.build(g, layers.ConvNorm{Name: "the conv", NormName: "norm", Out: 4, Spec: engine.SquareConv(5, 1, 0), Eps: 1e-3, FrozenStats: true})
			if err := g.Compile(); err == nil || !strings.Contains(err.Error(), "the conv") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
