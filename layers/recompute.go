package layers

import (
	"github.com/vernier-ml/vernier/engine"
)

// second is how an op is run a second time: with spare outputs behind its own.
type second struct {
	spare [][]int
	run   func(out, in []engine.Tensor) error
}

// Recompute adds what build adds, of which only the node that build returns is kept for the
// reverse pass. Backward adds the other ops of build again where their values are needed
// (Chen et al. 2016, Training deep nets with sublinear memory cost): a step takes less memory
// and up to a third more time, and gives the same bits. Running statistics move once, and
// dropout drops the same numbers both times.
//
// What follows on build may read what build returns, and nothing else that it added.
// Recompute must not be called within build.
func (g *Graph) Recompute(build func() *Node) *Node {
	from := len(g.ops)
	out := build()
	if g.err != nil {
		return nil
	}
	kept, _ := g.outputOf(out)
	for _, o := range g.ops[from:] {
		// Small ops read parameters; they run together at the begin of a step.
		o.forgotten = !o.isSmall && o != kept.op && (o.alias == nil || o.alias != kept.op)
	}
	return out
}

// recomputed returns what a gradient reads in place of forgotten values, which it computes
// again.
func (g *Graph) recomputed(in []*Node) []*Node {
	list := make([]*Node, len(in))
	for i, n := range in {
		list[i] = n
		o := g.byNode[n]
		if o == nil || !o.forgotten || g.kept[n] {
			continue
		}
		if g.again[n] == nil {
			g.repeat(o)
		}
		if list[i] = g.again[n]; list[i] == nil { // building has failed
			list[i] = n
		}
	}
	return list
}

// repeat adds the op behind o once more, and before it those whose outputs it reads.
func (g *Graph) repeat(o *op) {
	if o.alias != nil {
		o = o.alias
	}
	shapes, run := make([][]int, len(o.shapes)), o.run
	for i, s := range o.shapes {
		shapes[i] = s
	}
	d := describer{g, o.description}
	d.phase, d.moves, d.second = engine.PhaseBackward, nil, nil
	if o.second != nil {
		shapes, run = append(shapes, o.second.spare...), o.second.run
	}
	nodes := d.applyMulti(o.name+" again", shapes, o.in, run, nil)
	if n := nodes[o.output]; n != nil {
		g.byNode[n].overwrites = o.overwrites
	}
	for _, other := range g.ops[o.id:] { // itself, and its further outputs behind it
		if other != o && other.alias != o {
			break
		}
		g.again[other.node] = nodes[other.output]
	}
}
