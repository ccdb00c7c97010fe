package layers_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// tokenGraph is a graph on a CPU engine, and its parameters.
func tokenGraph(t *testing.T) (*layers.Graph, *layers.Params) {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	t.Cleanup(func() { g.Close(); eng.Close() })
	return g, ps
}

// fed adds an input that holds v and whose gradient is wanted.
func fed(t *testing.T, g *layers.Graph, name string, shape []int, v ...float32) *layers.Node {
	t.Helper()
	n := g.Input(name, shape...)
	if err := g.Engine().Write(g.Value(n), v); err != nil {
		t.Fatal(err)
	}
	g.NeedGrad(n)
	return n
}

func runGraph(t *testing.T, g *layers.Graph) {
	t.Helper()
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
}

func wantNumbers(t *testing.T, g *layers.Graph, what string, n *layers.Node, want ...float32) {
	t.Helper()
	if n == nil {
		t.Errorf("%s: no node", what)
		return
	}
	if got := read(t, g.Engine(), g.Value(n)); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestTokensOfAMapByHand(t *testing.T) {
	g, _ := tokenGraph(t)
	// Two images of 2 channels, 1 x 3 positions; channel c of position p is 10c+p.
	x := fed(t, g, "x", []int{2, 2, 1, 3}, 0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112)
	cls := fed(t, g, "cls", []int{1, 1, 2}, -1, -2)
	pos := fed(t, g, "pos", []int{1, 4, 2}, 0, 0, 1000, 2000, 3000, 4000, 5000, 6000)
	y := g.Tokens("tokens", x, cls, pos)
	plain := g.Tokens("plain", x, nil, nil)
	first, third := g.Token("first", y, 0), g.Token("third", y, 2)
	seed := fed(t, g, "seed", []int{2, 2}, 1, 2, 3, 4)
	g.Backward(g.Add(g.Scale("tripled", third, 3), first), seed)
	for _, n := range []*layers.Node{y, first, third} {
		g.Keep(n)
	}
	runGraph(t, g)
	wantNumbers(t, g, "tokens", y,
		-1, -2, 1000, 2010, 3001, 4011, 5002, 6012,
		-1, -2, 1100, 2110, 3101, 4111, 5102, 6112)
	wantNumbers(t, g, "tokens without prefix and position", plain, 0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112)
	wantNumbers(t, g, "class token", first, -1, -2, -1, -2)
	wantNumbers(t, g, "third token", third, 3001, 4011, 3101, 4111)
	wantNumbers(t, g, "gradient of the map", g.GradOf(x), 0, 3, 0, 0, 6, 0, 0, 9, 0, 0, 12, 0)
	wantNumbers(t, g, "gradient of the prefix", g.GradOf(cls), 4, 6)
	wantNumbers(t, g, "gradient of the position", g.GradOf(pos), 4, 6, 0, 0, 12, 18, 0, 0)
}

// TestFrozenEmbedding wants the gradient of the position alone, with the map and
// the prefix outside of it, as when the patch embedding is frozen.
func TestFrozenEmbedding(t *testing.T) {
	g, ps := tokenGraph(t)
	cls, err := ps.Add("cls_token", layers.Backbone, layers.Weight, layers.Constant(0), 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	cls.Frozen = true
	y := g.TokensModule("tokens", g.Input("x", 1, 2, 1, 2), layers.Tokenizer{Class: "cls_token", Position: "pos_embed"})
	g.Backward(y, fed(t, g, "seed", []int{1, 3, 2}, 1, 2, 3, 4, 5, 6))
	runGraph(t, g)
	if grad := g.ParamGrad(cls); grad != nil {
		t.Errorf("the frozen class token has the gradient %v", grad)
	}
	if got := read(t, g.Engine(), g.ParamGrad(ps.Get("pos_embed"))); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("gradient of the position: %v", got)
	}
}

func TestTransformerModulesHaveTheNamesOfCheckpoints(t *testing.T) {
	g, ps := tokenGraph(t)
	x := g.ConvModule("patch_embed.proj", g.Input("x", 2, 3, 8, 8), 6, engine.SquareConv(4, 4, 0), true)
	x = g.TokensModule("tokens", x, layers.Tokenizer{Class: "cls_token", Position: "pos_embed"})
	x = g.TransformerBlockModule("blocks.0", x, layers.TransformerBlock{Heads: 2, Hidden: 24, Eps: 1e-6})
	y := g.Token("cls", g.LayerNormModule("norm", x, 1e-6), 0)
	g.Backward(y, g.Input("seed", 2, 6))
	runGraph(t, g)
	var got []string
	for _, p := range ps.All() {
		got = append(got, fmt.Sprint(p.Name, " ", p.Value.Shape()))
		if g.ParamGrad(p) == nil {
			t.Errorf("%s has no gradient", p.Name)
		}
	}
	slices.Sort(got)
	want := []string{
		"blocks.0.attn.proj.bias (6)", "blocks.0.attn.proj.weight (6, 6)", "blocks.0.attn.qkv.bias (18)", "blocks.0.attn.qkv.weight (18, 6)",
		"blocks.0.mlp.fc1.bias (24)", "blocks.0.mlp.fc1.weight (24, 6)", "blocks.0.mlp.fc2.bias (6)", "blocks.0.mlp.fc2.weight (6, 24)",
		"blocks.0.norm1.bias (6)", "blocks.0.norm1.weight (6)", "blocks.0.norm2.bias (6)", "blocks.0.norm2.weight (6)",
		"cls_token (1, 1, 6)", "norm.bias (6)", "norm.weight (6)",
		"patch_embed.proj.bias (6)", "patch_embed.proj.weight (6, 3, 4, 4)", "pos_embed (1, 5, 6)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
}

// TestTransformerRunsWithoutNewTensors counts what a step allocates: Gorgonia's
// own bookkeeping, but no array of numbers.
func TestTransformerRunsWithoutNewTensors(t *testing.T) {
	g, _ := tokenGraph(t)
	x := g.Input("x", 2, 50, 96)
	g.NeedGrad(x)
	y := g.TransformerBlockModule("block", x, layers.TransformerBlock{Heads: 3, Hidden: 384, Eps: 1e-6})
	g.Backward(y, g.Input("seed", 2, 50, 96))
	runGraph(t, g) // buffers grow to their size
	const steps = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range steps {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	bytes := int64(after.TotalAlloc-before.TotalAlloc) / steps
	if smallest := int64(4 * 2 * 50 * 96); bytes > smallest {
		t.Errorf("a step allocates %d bytes, as much as a tensor of %d", bytes, smallest)
	}
}

func TestTransformerMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *layers.Graph)
		want  string
	}{
		"gain of another width": {func(g *layers.Graph) {
			g.LayerNorm("norm", g.Input("x", 2, 5, 6), g.Input("gamma", 5), g.Input("beta", 6), 1e-6)
		}, "norm: gamma#1 has shape (5), want (6)"},
		"row without leading axis": {func(g *layers.Graph) {
			g.LayerNorm("norm", g.Input("x", 6), g.Input("gamma", 6), g.Input("beta", 6), 1e-6)
		}, "norm: layer normalization needs (..., D)"},
		"eps of 0": {func(g *layers.Graph) {
			g.LayerNorm("norm", g.Input("x", 2, 6), g.Input("gamma", 6), g.Input("beta", 6), 0)
		}, "norm: layer normalization needs a positive eps, got 0"},
		"unknown form": {func(g *layers.Graph) { g.GELU("act", g.Input("x", 6), 7) }, "act: form 7"},
		"heads that do not divide": {func(g *layers.Graph) {
			g.Attention("attn", g.Input("qkv", 2, 5, 24), 3)
		}, "attn: attention of 3 heads needs (B, T, 3D)"},
		"tokens not packed":  {func(g *layers.Graph) { g.Attention("attn", g.Input("qkv", 5, 24), 2) }, "attn: attention of 2 heads"},
		"no map":             {func(g *layers.Graph) { g.Tokens("tokens", g.Input("x", 2, 5, 6), nil, nil) }, "tokens: tokens are made of (B, D, H, W)"},
		"prefix of two":      {func(g *layers.Graph) { g.Tokens("tokens", g.Input("x", 1, 2, 3, 3), g.Input("cls", 1, 2), nil) }, "tokens: cls#1 has shape (1, 2), want (1, P, 2)"},
		"position of 4 by 4": {func(g *layers.Graph) { g.Tokens("tokens", g.Input("x", 1, 2, 3, 3), nil, g.Input("pos", 1, 16, 2)) }, "tokens: pos#1 has shape (1, 16, 2), want (1, 9, 2)"},
		"no such token":      {func(g *layers.Graph) { g.Token("cls", g.Input("x", 2, 5, 6), 5) }, "cls: no token 5 in (2, 5, 6)"},
		"linear of one axis": {func(g *layers.Graph) { g.Linear("fc", g.Input("x", 6), g.Input("w", 3, 6), nil) }, "fc: input (6) does not fit weights (3, 6)"},
		"module without maps": {func(g *layers.Graph) {
			g.TokensModule("tokens", g.Input("x", 5, 6), layers.Tokenizer{Class: "cls", Position: "pos"})
		}, "tokens: tokens are made of"},
		"missing input": {func(g *layers.Graph) {
			g.TransformerBlockModule("block", nil, layers.TransformerBlock{Heads: 3, Hidden: 4, Eps: 1e-6})
		}, "block.norm1: input 0 is missing"},
	} {
		g, _ := tokenGraph(t)
		c.build(g)
		if err := g.Compile(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
