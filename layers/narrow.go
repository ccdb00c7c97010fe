package layers

import "github.com/vernier-ml/vernier/engine"

// narrowed returns the outputs that a Narrower stores in its own format: the
// first ones of their ops, and those alike, that have four axes, or three, which tokens have. What a
// gradient of a parameter or input is made of is none of them, and where layers
// work on relations within a batch, three axes mean something else.
func (g *Graph) narrowed() map[output]bool {
	list := map[output]bool{}
	if _, ok := g.eng.(engine.Narrower); !ok {
		return list
	}
	exact := g.exact()
	for _, o := range g.ops {
		out, _ := g.outputOf(o.node)
		if out.i != out.op.output && out.i >= out.op.maps || exact[o.node] {
			continue
		}
		axes := len(o.shapes[o.output])
		if o.activation || axes == 4 || axes == 3 && len(g.flows) == 0 {
			list[out] = true
		}
	}
	return list
}

// exact lists the gradients of parameters and inputs, and the sums that they are
// made of.
func (g *Graph) exact() map[*Node]bool {
	list := map[*Node]bool{}
	for _, d := range g.derivs {
		list[d] = true
	}
	for i := len(g.ops) - 1; i >= 0; i-- { // what is added comes before its sum
		o := g.ops[i]
		if !list[o.node] {
			continue
		}
		if o.kind == KindAdd {
			for _, n := range o.in {
				list[n] = true
			}
		}
		if sum := g.adds[o.node]; sum != nil {
			list[sum] = true
		}
	}
	return list
}

// footprint is what an output takes in the arena.
func (g *Graph) footprint(shape []int, narrow, summed bool) (int64, error) {
	if b := g.bundler(); b != nil && summed {
		return b.SumsFootprint(shape...)
	}
	if n, ok := g.eng.(engine.Narrower); ok && narrow {
		return n.ActivationFootprint(shape...)
	}
	return g.eng.Footprint(shape...)
}

// place makes the tensor of an output.
func (g *Graph) place(offset int64, shape []int, narrow, summed bool) (engine.Tensor, error) {
	if a, ok := g.arena.(engine.SumsArena); ok && summed {
		return a.Sums(offset, shape...)
	}
	if a, ok := g.arena.(engine.NarrowArena); ok && narrow {
		return a.Activation(offset, shape...)
	}
	return g.arena.Tensor(offset, shape...)
}
