//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// A head with layer normalization and dropout, whose masks are drawn between recordings,
// has the losses and gradients that it has on the host.
func TestAHeadWithDropoutIsThatOfTheHost(t *testing.T) {
	stepsOfBoth(t, []int{8, 6}, func(g *layers.Graph, x *layers.Node) *layers.Node {
		y := g.LinearModule("fc", g.LayerNormModule("norm", x, 1e-5), 16)
		return g.LinearModule("head", g.Dropout("drop", g.ReLU("relu", y), 0.4), 3)
	}, func(g *layers.Graph, step int) error { return g.DrawDropout(1, uint64(step), 0) }, func(step int, name string, got, want []float32) {
		for i, w := range want {
			if math.Abs(float64(got[i]-w)) > 1e-4*(1+math.Abs(float64(w))) {
				t.Fatalf("step %d: gradient %d of %s is %v, want %v", step, i, name, got[i], w)
			}
		}
	})
}
