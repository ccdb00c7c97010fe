//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Blocks that are computed twice give the same bits on a device too, in both precisions,
// with recordings and bundles.
func TestBlocksComputedTwiceGiveTheSameBits(t *testing.T) {
	for _, precision := range []Precision{0, BF16} {
		t.Run(fmt.Sprint("precision ", precision), func(t *testing.T) {
			want, ops := twice(t, precision, false)
			got, more := twice(t, precision, true)
			if more <= ops {
				t.Errorf("%d operations, %d without", more, ops)
			}
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("result %d differs: %v, want %v", i, got[i][:1], want[i][:1])
				}
			}
		})
	}
}

// twice returns the gradients and statistics of six steps, of which the last are replayed.
func twice(t *testing.T, precision Precision, recompute bool) (results [][]float32, ops int) {
	t.Helper()
	eng, _, _ := newFake(t, Options{Precision: precision})
	ps := layers.NewParams(eng, 5)
	g := layers.NewGraph(eng, ps)
	t.Cleanup(func() { g.Close() })
	x := g.Input("images", 4, 3, 8, 8)
	y := g.ConvModule("stem", x, 8, engine.SquareConv(2, 2, 0), true)
	block := func(part func() *layers.Node) {
		if recompute {
			y = g.Recompute(part)
		} else {
			y = part()
		}
	}
	for i := range 3 {
		name := fmt.Sprint("residual", i)
		block(func() *layers.Node {
			frozen := i == 1
			c := layers.ConvNorm{Name: name + ".conv1", NormName: name + ".bn1", ReLUName: name + ".relu1", Out: 12, Spec: engine.SquareConv(3, 1, 1), Eps: 1e-5, Momentum: .1, FrozenStats: frozen}
			z := g.ConvNormModule(c, y, nil)
			c.Name, c.NormName, c.ReLUName, c.Out = name+".conv2", name+".bn2", name+".relu2", 8
			return g.ConvNormModule(c, z, y)
		})
	}
	y = g.TokensModule("tokens", y, layers.Tokenizer{Class: "cls", Position: "pos"})
	for i := range 3 {
		name := fmt.Sprint("block", i)
		block(func() *layers.Node {
			return g.TransformerBlockModule(name, y, layers.TransformerBlock{Heads: 2, Hidden: 24, Eps: 1e-3, GELU: engine.GELUErf, LayerScale: i == 2, DropPath: .2 * float64(i)})
		})
	}
	out := g.LinearModule("head", g.Token("class", g.LayerNormModule("norm", y, 1e-3), 0), 4)
	seed := g.Input("seed", 4, 4)
	g.Backward(out, seed)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	for step := range 6 {
		for n, at := range map[*layers.Node]int{x: 0, seed: 1} {
			in := make([]float32, n.Shape().TotalSize())
			for i := range in {
				in[i] = float32((i*7919+step*31+at*17)%101)/50 - 1
			}
			if err := eng.Write(g.Value(n), in); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.DrawDropout(1, uint64(step), 0); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		for _, p := range ps.All() {
			if grad := g.ParamGrad(p); grad != nil {
				results = append(results, numbers(t, eng, grad))
			} else {
				results = append(results, numbers(t, eng, p.Value))
			}
		}
	}
	if n, refusal := g.Recorded(); n == 0 || refusal != nil {
		t.Errorf("%d recordings, %v", n, refusal)
	}
	return results, len(g.Nodes())
}
