package optim

import (
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// noted keeps the work that began.
type noted []engine.Work

func (n *noted) Begin(w *engine.Work) { *n = append(*n, *w) }
func (n *noted) End()                 {}

func TestClippingAndTheMoveAreObserved(t *testing.T) {
	for name, bytes := range map[string]float64{
		"sgd":   2 * 4 * 3, // of two numbers: gradient, parameter read and written
		"adamw": 2 * 4 * 7, // and two moments
	} {
		ps, g := quadratic(t, map[string]float32{"v": 1, "w": 1}, nil)
		s := Default()
		s.Name, s.Momentum = name, 0
		o, err := New(s, ps, g)
		if err != nil {
			t.Fatal(err)
		}
		var seen noted
		o.Observe(&seen)
		steps(t, o, g, 1)
		o.Observe(nil)
		steps(t, o, g, 1)
		if len(seen) != 2 || seen[0].Kind != "clip" || seen[0].Bytes != 2*4 || seen[1].Kind != name || seen[1].Bytes != bytes {
			t.Errorf("%s: observed %+v", name, seen)
		}
		for _, w := range seen {
			if w.Phase != engine.PhaseOptimizer {
				t.Errorf("%s is of phase %s", w.Kind, w.Phase)
			}
		}
	}
}
