package optim

import "github.com/vernier-ml/vernier/engine"

// Observe makes later steps notify by of the norm and limits of the gradient, work of the
// kind "clip", and of the move, whose kind is the optimizer's name; nil ends that.
func (o *Optimizer) Observe(by engine.Observer) {
	o.observer = by
	numbers := 0
	for _, g := range o.grads {
		numbers += g.Size()
	}
	const width = 4 // bytes of a number
	o.clipping = &engine.Work{Name: "norm and limits of the gradient", Kind: "clip", Phase: engine.PhaseOptimizer, Bytes: float64(width * numbers)}
	// The gradient is read; parameters and states are read and written.
	o.moving = &engine.Work{Name: "parameters", Kind: o.settings.Name, Phase: engine.PhaseOptimizer, Bytes: float64(width * numbers * (3 + 2*o.settings.states()))}
}
