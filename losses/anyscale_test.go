package losses

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Embeddings far too small or far too large give finite numbers.
func TestLossesStayFiniteAtAnyScale(t *testing.T) {
	everyLoss(t, func(t *testing.T, name string, l Loss, m metric.Metric) {
		for _, s := range situations(m) {
			for _, scale := range []float64{1e-30, 1e-6, 1e6, 1e30} {
				scaled := situation{s.name, s.x.like(), s.labels}
				for k, v := range s.x.x {
					scaled.x.x[k] = scale * v
				}
				p := problemOf(l, m, scaled)
				grad := make([]float64, len(p.x))
				r := p.eval(t, p.x, grad)
				if r.Value-r.Value != 0 || slices.ContainsFunc(grad, func(g float64) bool { return g-g != 0 }) {
					t.Errorf("%s at scale %g: %+v, gradient %v", s.name, scale, r, grad)
				}
			}
		}
	})
}
