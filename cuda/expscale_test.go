//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// A learned scale is a normalization with fixed statistics to a device, between
// exponentials that the host computes; its gradient agrees.
func TestALearnedScale(t *testing.T) {
	for name, n := range map[string]int{"one": 1, "each": 5} {
		t.Run(name, func(t *testing.T) {
			g := stepsOfBoth(t, []int{6, 4}, func(g *layers.Graph, x *layers.Node) *layers.Node {
				return g.ExpScale("scaled", g.LinearModule("head", x, 5), g.Param("log", layers.Scale, layers.Constant(-.5), n))
			}, func(*layers.Graph, int) error { return nil }, func(_ int, name string, got, want []float32) {
				near(t, name, got, want, 1e-4)
			})
			if _, refusal := g.Recorded(); refusal != nil {
				t.Error(refusal)
			}
		})
	}
}
