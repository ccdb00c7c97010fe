package layers

// Narrower is an Engine that stores what operations pass on to each other, maps
// and tokens and their gradients, in another format than float32, one of fewer
// bytes. Its arenas are NarrowArenas. Everything else is float32: parameters and
// their gradients, statistics, embeddings, distances.
type Narrower interface {
	// ActivationFootprint is Footprint for such a tensor.
	ActivationFootprint(shape ...int) (int64, error)
}

// NarrowArena is an Arena of a Narrower.
type NarrowArena interface {
	Arena
	// Activation is Tensor for such a tensor.
	Activation(offset int64, shape ...int) (Tensor, error)
}

// narrowed returns the outputs that a Narrower stores in its own format: the
// first ones of their ops that have four axes, or three, which tokens have. What a
// gradient of a parameter or input is made of is none of them, and where layers
// work on relations within a batch, three axes mean something else.
func (g *Graph) narrowed() map[output]bool {
	list := map[output]bool{}
	if _, ok := g.eng.(Narrower); !ok {
		return list
	}
	exact := g.exact()
	for _, o := range g.ops {
		if o.alias != nil || exact[o.node] {
			continue
		}
		axes := len(o.shapes[o.output])
		if axes == 4 || axes == 3 && len(g.flows) == 0 {
			list[output{o, o.output}] = true
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
		if o := g.ops[i]; o.kind == KindAdd && list[o.node] {
			for _, n := range o.in {
				list[n] = true
			}
		}
	}
	return list
}

// footprint is what an output takes in the arena.
func (g *Graph) footprint(shape []int, narrow bool) (int64, error) {
	if n, ok := g.eng.(Narrower); ok && narrow {
		return n.ActivationFootprint(shape...)
	}
	return g.eng.Footprint(shape...)
}

// place makes the tensor of an output.
func (g *Graph) place(offset int64, shape []int, narrow bool) (Tensor, error) {
	if a, ok := g.arena.(NarrowArena); ok && narrow {
		return a.Activation(offset, shape...)
	}
	return g.arena.Tensor(offset, shape...)
}
