package enginetest

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

// GoldenGraph builds a case of the family layers as a graph, runs it forward and
// back, and compares the output, every gradient and the running statistics, within
// rel of the largest number of each.
func GoldenGraph(t *testing.T, eng engine.Engine, c *golden.Case, rel float64) {
	t.Helper()
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	defer g.Close()
	in := map[string]*layers.Node{}
	node := func(name string) *layers.Node {
		t.Helper()
		v, ok := c.Inputs[name]
		if !ok {
			t.Fatalf("the case has no input %q", name)
		}
		shape := v.Shape
		if len(shape) == 0 {
			shape = []int{1} // a loss
		}
		n := g.Input(name, shape...)
		if err := eng.Write(g.Value(n), v.Float32()); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Outputs["grad_"+name]; ok {
			g.NeedGrad(n)
		}
		in[name] = n
		return n
	}
	optional := func(name string) *layers.Node {
		if _, ok := c.Inputs[name]; !ok {
			return nil
		}
		return node(name)
	}
	y := goldenGraph(t, g, c, node, optional)
	r := node("r")
	g.Backward(y, r)
	g.Keep(y) // the gradients of some ops read it
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	compare := func(name string, x engine.Tensor, want golden.Tensor) {
		t.Helper()
		v, err := numbers(eng, x)
		if err != nil {
			t.Fatal(err)
		}
		golden.Within32(t, name, v, want.Data, rel, golden.Abs32)
	}
	compare("y", g.Value(y), c.Outputs["y"])
	for name, want := range c.Outputs {
		switch {
		case strings.HasPrefix(name, "grad_"):
			n := in[strings.TrimPrefix(name, "grad_")]
			if n == nil || g.GradOf(n) == nil {
				t.Errorf("no gradient for %s", name)
				continue
			}
			compare(name, g.Value(g.GradOf(n)), want)
		case strings.HasSuffix(name, "_after"):
			compare(name, g.Value(in[strings.TrimSuffix(name, "_after")]), want)
		case name != "y":
			t.Errorf("output %s is not compared", name)
		}
	}
}

func goldenGraph(t *testing.T, g *layers.Graph, c *golden.Case, node, optional func(string) *layers.Node) *layers.Node {
	is := func(prefix string) bool { return strings.HasPrefix(c.Name, prefix) }
	norm := func(x *layers.Node, gamma, beta, mean, variance string, frozen bool) *layers.Node {
		return g.BatchNorm("bn", x, layers.NormParams{
			Gamma: node(gamma), Beta: node(beta), Mean: node(mean), Var: node(variance),
			Eps: float32(c.Params.Float("eps", 1e-5)), Momentum: float32(c.Params.Float("momentum", .1)), FrozenStats: frozen,
		})
	}
	switch {
	case is("conv_"):
		if c.Params.Int("dilation", 1) != 1 || c.Params.Int("groups", 1) != 1 {
			t.Fatalf("dilated and grouped convolutions are not supported: %v", c.Params)
		}
		w := c.Inputs["weight"].Shape
		spec := engine.SquareConv(w[2], c.Params.Int("stride", 1), c.Params.Int("padding", 0))
		spec.KernelW = w[3]
		return g.Conv("conv", node("x"), node("weight"), optional("bias"), spec)
	case is("batchnorm_"):
		return norm(node("x"), "gamma", "beta", "running_mean", "running_var", !c.Params.Bool("training", true))
	case is("maxpool_"):
		return g.MaxPool("pool", node("x"), graphPool(c))
	case is("avgpool_"):
		return g.AvgPool("pool", node("x"), graphPool(c))
	case is("global_avg_plus_max"):
		x := node("x")
		return g.Add(g.GlobalAvg("avg", x), g.GlobalMax("max", x))
	case is("global_avg"):
		return g.GlobalAvg("avg", node("x"))
	case is("global_max"):
		return g.GlobalMax("max", node("x"))
	case is("linear"):
		return g.Linear("linear", node("x"), node("weight"), optional("bias"))
	case is("relu"):
		return g.ReLU("relu", node("x"))
	case is("l2_normalize"):
		smooth := strings.Contains(c.Params.String("rule", ""), "sqrt")
		return g.RowNorm("norm", node("x"), engine.RowNormSpec{Scale: 1, Eps: float32(c.Params.Float("eps", 1e-12)), Smooth: smooth})
	case is("layernorm"):
		return g.LayerNorm("norm", node("x"), node("gamma"), node("beta"), float32(c.Params.Float("eps", 1e-5)))
	case is("gelu"):
		form := engine.GELUErf
		if c.Params.String("approximate", "none") == "tanh" {
			form = engine.GELUTanh
		}
		return g.GELU("gelu", node("x"), form)
	case is("softmax"):
		return g.Softmax("softmax", graphLastAxis(t, c, node("x")))
	case is("log_softmax"):
		return g.LogSoftmax("log softmax", graphLastAxis(t, c, node("x")))
	case is("cross_entropy"):
		return g.HostLoss("loss", graphLikelihood(t, c), g.LogSoftmax("log softmax", node("x")))
	case is("attention"):
		return graphAttention(g, node("x"), node, "", c.Params.Int("heads", 0))
	case is("vit_block"):
		return graphBlock(g, c, node)
	case is("two_branches_concat"):
		x := node("x")
		one := g.Conv("one", x, node("w1"), node("b1"), engine.SquareConv(1, 1, 0))
		one = g.ReLU("one.relu", norm(one, "g1", "be1", "m1", "v1", true))
		two := g.ReLU("two.relu", g.Conv("two", x, node("w2"), node("b2"), engine.SquareConv(3, 1, 1)))
		pool := engine.SquarePool(3, 1, 1, false)
		pool.CountPad = true
		return g.Concat("join", one, g.AvgPool("two.pool", two, pool))
	}
	t.Fatalf("unknown kind of layer %q", c.Name)
	return nil
}

func graphPool(c *golden.Case) engine.PoolSpec {
	p := engine.SquarePool(c.Params.Int("kernel", 2), c.Params.Int("stride", 2), c.Params.Int("padding", 0), c.Params.Bool("ceil_mode", false))
	p.CountPad = c.Params.Bool("count_include_pad", true)
	return p
}
