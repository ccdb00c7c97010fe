package layers

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/vernier-ml/vernier/engine"
)

// Observe makes later runs notify o of every op, in the order of execution; nil ends
// that. While it is set nothing is recorded or replayed, see Recorder: each op is asked
// for by itself.
func (g *Graph) Observe(o engine.Observer) {
	g.observer = o
	if o == nil {
		return
	}
	narrow := g.narrowed()
	for _, op := range g.ops {
		op.work = op.describe(narrow)
	}
}

// Work describes the graph's ops in the order of execution.
func (g *Graph) Work() []engine.Work {
	narrow := g.narrowed()
	var list []engine.Work
	for _, o := range g.ops {
		if w := o.describe(narrow); w != nil {
			list = append(list, *w)
		}
	}
	return list
}

// describe returns the op as an Observer receives it, nil for what only names another
// output of one. A bundle is described as one.
func (o *op) describe(narrow map[output]bool) *engine.Work {
	switch b := o.bundle; {
	case o.alias != nil:
		return nil
	case b != nil && b.at != o:
		return nil
	case b != nil:
		w := &engine.Work{Name: fmt.Sprintf("%d small operations", len(b.ops)), Kind: "prepare parameters", Phase: o.phase}
		if o.phase == engine.PhaseBackward {
			w.Kind = "finish gradients"
		}
		for _, small := range b.ops {
			w.Bytes += small.itself(narrow).Bytes
		}
		return w
	}
	return o.itself(narrow)
}

// itself is describe for an op that is in no bundle.
func (o *op) itself(narrow map[output]bool) *engine.Work {
	w := &engine.Work{Name: o.name, Kind: o.what, Phase: o.phase, FLOPs: float64(o.products)}
	for i, n := range o.in {
		w.In = append(w.In, n.Shape())
		numbers := n.Shape().TotalSize()
		if o.read != nil {
			numbers = o.read[i]
		}
		out, computed := o.g.outputOf(n)
		w.Bytes += float64(numbers) * o.g.width(computed && narrow[out])
	}
	for i, s := range o.shapes {
		if s != nil {
			w.Out = append(w.Out, s)
			w.Bytes += float64(tensor.Shape(s).TotalSize()) * o.g.width(narrow[output{o, i}])
		}
	}
	return w
}

// width is the number of bytes that a number is stored in.
func (g *Graph) width(narrow bool) float64 {
	const many = 1 << 20 // numbers, beside which padding is nothing
	if n, ok := g.eng.(engine.Narrower); ok && narrow {
		if bytes, err := n.ActivationFootprint(many); err == nil {
			return float64(bytes) / many
		}
	}
	return 4
}

// observed runs the op with the tensors of its inputs.
func (o *op) observed(in []engine.Tensor) error {
	if o.g.observer == nil {
		return o.compute(in)
	}
	if o.work == nil { // another op of its bundle does it
		return nil
	}
	return engine.Observe(o.g.observer, o.work, func() error { return o.compute(in) })
}

// Work inside that of a HostLoss.
var (
	lossDownload = engine.Work{Name: "values to the host", Kind: "download", Phase: engine.PhaseLoss}
	lossCompute  = engine.Work{Name: "loss on the host", Kind: "loss", Phase: engine.PhaseLoss}
	lossUpload   = engine.Work{Name: "gradients to the engine", Kind: "upload", Phase: engine.PhaseLoss}
)
