package enginetest

import (
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

// graphLastAxis demands that a case works along the last axis of x.
func graphLastAxis(t *testing.T, c *golden.Case, x *layers.Node) *layers.Node {
	t.Helper()
	if axis := c.Params.Int("axis", -1); axis != -1 && axis != len(x.Shape())-1 {
		t.Fatalf("axis %d of %v is not the last one", axis, x.Shape())
	}
	return x
}

// graphLikelihood is the part of a cross-entropy behind the log-softmax.
func graphLikelihood(t *testing.T, c *golden.Case) func(values, grads [][]float64) (float64, error) {
	t.Helper()
	if r := c.Params.String("reduction", "mean"); r != "mean" {
		t.Fatalf("reduction %q is unknown", r)
	}
	labels, classes := c.Params.Ints("labels"), c.Inputs["x"].Shape[1]
	return func(values, grads [][]float64) (float64, error) {
		clear(grads[0])
		loss, n := 0.0, float64(len(labels))
		for i, label := range labels {
			loss -= values[0][i*classes+label] / n
			grads[0][i*classes+label] = -1 / n
		}
		return loss, nil
	}
}

// graphAttention is multi-head self-attention with parameters under a prefix.
func graphAttention(g *layers.Graph, x *layers.Node, node func(string) *layers.Node, prefix string, heads int) *layers.Node {
	linear := func(name string, x *layers.Node) *layers.Node {
		return g.Linear(name, x, node(prefix+name+".weight"), node(prefix+name+".bias"))
	}
	return linear("proj", g.Attention("attention", linear("qkv", x), heads))
}

func graphBlock(g *layers.Graph, c *golden.Case, node func(string) *layers.Node) *layers.Node {
	norm := func(name string, x *layers.Node) *layers.Node {
		return g.LayerNorm(name, x, node(name+".weight"), node(name+".bias"), float32(c.Params.Float("eps", 1e-6)))
	}
	linear := func(name string, x *layers.Node) *layers.Node {
		return g.Linear(name, x, node(name+".weight"), node(name+".bias"))
	}
	x := node("x")
	x = g.Add(x, graphAttention(g, norm("norm1", x), node, "attn.", c.Params.Int("heads", 0)))
	return g.Add(x, linear("mlp.fc2", g.GELU("gelu", linear("mlp.fc1", norm("norm2", x)), engine.GELUErf)))
}
