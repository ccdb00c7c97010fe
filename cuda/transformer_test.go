//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// A transformer with registers, positions of another grid, LayerScale, quick GELU and
// dropped paths has the losses and gradients that it has on the host.
func TestATransformerOfTodayIsThatOfTheHost(t *testing.T) {
	for _, path := range []float64{0, .4} {
		t.Run(fmt.Sprintf("paths dropped with %v", path), func(t *testing.T) { transformerOfBoth(t, path) })
	}
}

func transformerOfBoth(t *testing.T, path float64) {
	stepsOfBoth(t, []int{4, 3, 4, 4}, func(g *layers.Graph, x *layers.Node) *layers.Node {
		y := g.ConvModule("patch_embed", x, 8, engine.SquareConv(2, 2, 0), true)
		y = g.TokensModule("tokens", y, layers.Tokenizer{
			Class: "cls", Position: "pos", Stored: 9, Registers: "reg", N: 2,
			Mix: func(h, w int) []float32 {
				m := make([]float32, h*w*9)
				for i := range m {
					m[i] = float32(math.Cos(float64(i)))
				}
				return m
			},
		})
		y = g.LayerNormModule("norm_pre", y, 1e-3)
		y = g.TransformerBlockModule("block", y, layers.TransformerBlock{Heads: 2, Hidden: 12, Eps: 1e-3, GELU: engine.GELUQuick, LayerScale: true, DropPath: path})
		return g.LinearModule("head", g.Token("class", g.LayerNormModule("norm", y, 1e-3), 0), 3)
	}, func(g *layers.Graph, step int) error { return g.DrawDropout(1, uint64(step), 0) }, func(step int, name string, got, want []float32) {
		for i, w := range want {
			if math.Abs(float64(got[i]-w)) > 1e-4*(1+math.Abs(float64(w))) {
				t.Fatalf("step %d: gradient %d of %s is %v, want %v", step, i, name, got[i], w)
			}
		}
	})
}
