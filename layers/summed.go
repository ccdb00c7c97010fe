package layers

import "github.com/vernier-ml/vernier/engine"

// The gradient of a bias is the sums of a gradient over all axes but that of channels. On
// a Summer the op that computes such a gradient sums it as well, if it is asked to before
// the graph is compiled: nobody then has to read the gradient for that.

// sums reports whether ops may sum the gradients that they compute.
func (g *Graph) sums() (engine.Summer, bool) {
	s, ok := g.eng.(engine.Summer)
	return s, ok && !g.unfused
}

// summable notes that output at holds the sums of an output, where it has a shape.
func (d describer) summable(output, at int) describer {
	if d.sumsAt == nil {
		d.sumsAt = map[int]int{}
	}
	d.sumsAt[output] = at
	return d.summing(append(d.description.sums, at)...)
}

// sumsOf returns the sums of a gradient (c) as further output of the op that computes it,
// or nil if that does not sum. channels says whose gradient the sums are.
func (g *Graph) sumsOf(d *Node, channels []int) *Node {
	out, computed := g.outputOf(d)
	if !computed || channels == nil {
		return nil
	}
	if n := g.summed[out]; n != nil {
		return n
	}
	at, ok := out.op.sumsAt[out.i]
	if !ok {
		return nil
	}
	out.op.shapes[at] = channels
	n := g.add(out.op.further(g.byNode[d].name+" sums", at))
	g.summed[out] = n
	return n
}
