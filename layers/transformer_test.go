package layers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// mixingTokenizer has two registers, and a table of three places of which each place of a
// map takes unequal shares.
func mixingTokenizer() layers.Tokenizer {
	return layers.Tokenizer{
		Class: "cls", Position: "pos", Stored: 3, Registers: "reg", N: 2,
		Mix: func(h, w int) []float32 {
			m := make([]float32, h*w*3)
			for i := range m {
				m[i] = float32(math.Cos(float64(i)))
			}
			return m
		},
	}
}

func TestTokensWithRegistersAndMixedPositionsByHand(t *testing.T) {
	g, ps := tokenGraph(t)
	// One image of one channel and two places, 7 and 8.
	x := fed(t, g, "x", []int{1, 1, 1, 2}, 7, 8)
	for name, v := range map[string][]float32{"cls": {100}, "reg": {200, 300}, "pos": {1000, 2, 3, 5}} {
		shape := []int{1, len(v), 1}
		if _, err := ps.Add(name, layers.Backbone, layers.Weight, layers.Values(v), shape...); err != nil {
			t.Fatal(err)
		}
	}
	tok := mixingTokenizer()
	tok.Mix = func(h, w int) []float32 {
		if h != 1 || w != 2 {
			t.Errorf("asked for a map of %d x %d", h, w)
		}
		return []float32{.5, .5, 0, 0, -1, 2}
	}
	y := g.TokensModule("tokens", x, tok)
	g.Keep(y)
	g.Backward(y, fed(t, g, "seed", []int{1, 5, 1}, 1, 10, 100, 1000, 10000))
	runGraph(t, g)
	wantNumbers(t, g, "tokens", y, 1100, 200, 300, 7+2.5, 8+7)
	wantNumbers(t, g, "gradient of the map", g.GradOf(x), 1000, 10000)
	for name, want := range map[string][]float32{"cls": {1}, "reg": {10, 100}, "pos": {1, 500, 500 - 10000, 20000}} {
		if got := read(t, g.Engine(), g.ParamGrad(ps.Get(name))); !slices.Equal(got, want) {
			t.Errorf("gradient of %s: %v, want %v", name, got, want)
		}
	}
}

func TestGradientOfATransformerMatchesFiniteDifferences(t *testing.T) {
	g, ps := tokenGraph(t)
	x := g.Input("images", 3, 3, 4, 4)
	y := g.ConvModule("patch_embed", x, 6, engine.SquareConv(2, 2, 0), true)
	y = g.TokensModule("tokens", y, mixingTokenizer())
	y = g.TransformerBlockModule("block", y, layers.TransformerBlock{Heads: 2, Hidden: 8, Eps: 1e-3, GELU: engine.GELUQuick, LayerScale: true, DropPath: .3})
	y = g.LayerNormModule("norm", y, 1e-3)
	loss := g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
		sum := 0.
		for i := range v[0] {
			w := math.Sin(float64(i))
			sum += w * v[0][i]
			grads[0][i] = w
		}
		return sum, nil
	}, y)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	fill(t, g.Engine(), g.Value(x), 5)
	for i, name := range []string{"block.ls1.gamma", "block.ls2.gamma", "pos", "reg"} { // begin near 0
		fill(t, g.Engine(), ps.Get(name).Value, uint64(20+i))
	}
	if err := g.DrawDropout(1, 2, 0); err != nil {
		t.Fatal(err)
	}
	wantGradients(t, g, ps, loss, "")
}

func TestLayerScaleMultipliesTheOutputOfItsBranches(t *testing.T) {
	outputs := func(scaled bool) [2][]float32 {
		g, ps := tokenGraph(t)
		x := g.Input("x", 2, 3, 4)
		var parts [2]*layers.Node
		g.TransformerBlockModule("block", x, layers.TransformerBlock{Heads: 2, Hidden: 8, Eps: 1e-6, LayerScale: scaled, Observe: func(part string, n *layers.Node) {
			g.Keep(n)
			parts[map[string]int{"attn": 0, "mlp": 1}[part]] = n
		}})
		if scaled { // the MLP then sees the same as without
			for name, v := range map[string]float32{"block.ls1.gamma": 1, "block.ls2.gamma": -3} {
				if err := g.Engine().Write(ps.Get(name).Value, []float32{v, v, v, v}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		fill(t, g.Engine(), g.Value(x), 3)
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		return [2][]float32{read(t, g.Engine(), g.Value(parts[0])), read(t, g.Engine(), g.Value(parts[1]))}
	}
	plain, scaled := outputs(false), outputs(true)
	for i, v := range plain[1] {
		if w := scaled[0][i]; w != plain[0][i] {
			t.Fatalf("attention, number %d: %v, want %v", i, w, plain[0][i])
		}
		if w := scaled[1][i]; math.Abs(float64(w+3*v)) > 1e-6 {
			t.Fatalf("MLP, number %d: %v, want %v", i, w, -3*v)
		}
	}
}

func TestDropPathDropsWholeImages(t *testing.T) {
	eng := newEngine(t)
	const images, rate = 4000, 0.2
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x := g.Input("x", images, 2, 3)
	y := g.DropPath("path", x, rate)
	g.Keep(y)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	in := fill(t, eng, g.Value(x), 1)
	run := func(first int) []float32 {
		if err := g.DrawDropout(7, 3, first); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		return read(t, eng, g.Value(y))
	}
	out, kept := run(0), 0
	for i := range images {
		factor := float32(0)
		if out[6*i] != 0 {
			factor = 1 / (1 - float32(rate))
			kept++
		}
		for j := 6 * i; j < 6*i+6; j++ {
			if math.Abs(float64(out[j]-factor*in[j])) > 1e-6 {
				t.Fatalf("image %d: %v of %v, want the factor %v", i, out[j], in[j], factor)
			}
		}
	}
	// Four deviations of a binomial distribution.
	if want := images * (1 - rate); math.Abs(float64(kept)-want) > 4*math.Sqrt(want*rate) {
		t.Errorf("%d of %d images are kept, want about %v", kept, images, want)
	}
	// The draw is of an image's number: a later part of a batch has what the whole had there.
	later := run(100)
	for i := range images - 100 {
		if (later[6*i] == 0) != (out[6*(i+100)] == 0) {
			t.Fatalf("image %d is dropped in the whole or in the part, not in both", i+100)
		}
	}
}

func TestMistakesOfMatricesAndRowsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *layers.Graph)
		want  string
	}{
		"no product":     {func(g *layers.Graph) { g.MatMul("p", g.Input("a", 2, 3), g.Input("b", 2, 3)) }, "p: matrices (2, 3) and (2, 3) have no product"},
		"other size":     {func(g *layers.Graph) { g.Reshape("r", g.Input("a", 2, 3), 5) }, "r: (2, 3) cannot become [5]"},
		"a map":          {func(g *layers.Graph) { g.Reshape("r", g.Input("a", 2, 3, 1, 1), 6) }, "maps have an order of their own"},
		"too few":        {func(g *layers.Graph) { g.ScaleRows("s", g.Input("a", 2, 3), g.Input("b", 3)) }, "s: b#1 has shape (3), want one number for each row of (2, 3)"},
		"no such matrix": {func(g *layers.Graph) { g.MixRows("m", g.Input("a", 1, 2, 3), make([]float32, 5)) }, "m: a matrix of 5 numbers does not mix the rows of a table (1, 2, 3)"},
		"rate of 1":      {func(g *layers.Graph) { g.DropPath("d", g.Input("a", 2, 3), 1) }, "d: the rate of dropout is 1"},
	} {
		g, _ := tokenGraph(t)
		c.build(g)
		if err := g.Compile(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
