package layers

// An element-wise op may write over one of its inputs if nobody else reads it:
// no other op, forward or in reverse, and no user of the graph (see Keep). This
// saves a third of the memory of a step of a network that normalises and
// rectifies after each convolution. It is decided in Compile, when all readers
// are known, and holds in whatever order the tape machine runs the ops.

// mayOverwrite says which inputs the op behind n may write over.
func (g *Graph) mayOverwrite(n *Node, inputs ...int) *Node {
	if o := g.byNode[n]; o != nil {
		o.overwrites = inputs
	}
	return n
}

// Keep makes sure that the value of n can be read after a Run. Values without
// further use and those of inputs and parameters always can.
func (g *Graph) Keep(n *Node) {
	if n != nil {
		g.kept[n] = true
	}
}

// Nodes lists what the graph's ops compute, forward and in reverse, in the
// order in which it was added.
func (g *Graph) Nodes() []*Node {
	nodes := make([]*Node, len(g.ops))
	for i, o := range g.ops {
		nodes[i] = o.node
	}
	return nodes
}

// shareBuffers decides which ops write over an input.
func (g *Graph) shareBuffers() {
	readers := map[*Node]int{}
	for _, o := range g.ops {
		seen := map[*Node]bool{}
		for _, c := range o.in {
			// A further output waits for its first but does not read it.
			if !seen[c] && (o.alias == nil || o.alias != g.byNode[c]) {
				readers[c]++
			}
			seen[c] = true
		}
	}
	for _, o := range g.ops {
		for _, i := range o.overwrites {
			c := o.in[i]
			source := g.byNode[c]
			if source == nil || readers[c] != 1 || g.kept[c] || !sameShape(c.Shape(), o.shapes[o.output]) {
				continue
			}
			o.over = source
			source.gone = true
			break
		}
	}
}
