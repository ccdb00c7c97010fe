package bench

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Trace runs one iteration, as work of the kind "step", and notifies o of it and of all
// that it consists of. On a device nothing is recorded in that iteration.
func (r *Runner) Trace(o engine.Observer) error {
	if r.w.observe == nil {
		return fmt.Errorf("%s does not run a network, whose ops could be observed", r.name)
	}
	r.w.observe(o)
	defer r.w.observe(nil)
	return engine.Observe(o, &engine.Work{Name: r.name, Kind: "step"}, r.w.run)
}

// watched is what of an iteration is outside of the graph and the optimizer.
type watched struct{ by engine.Observer }

// as is f as work that an observer, if there is one, is notified of.
func (w *watched) as(name, kind string, phase engine.Phase, f func() error) func() error {
	work := &engine.Work{Name: name, Kind: kind, Phase: phase}
	return func() error { return engine.Observe(w.by, work, f) }
}
