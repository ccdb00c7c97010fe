package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// Backward adds the reverse pass from out to every trainable parameter, and to
// the inputs marked by NeedGrad. seed is the gradient that arrives at out; nil
// means 1 and is for an out of one element, a loss.
//
// It is our own walk over Gorgonia's SDOp: gorgonia.Grad sums at fan-outs with
// an op that knows Gorgonia's values only. After it, Grad returns the gradient
// nodes, and after a Run every parameter's Grad is the tensor that holds its
// gradient.
func (g *Graph) Backward(out, seed *Node) {
	if g.bad("backward", out) {
		return
	}
	if seed == nil {
		if seed = g.unit(out); seed == nil {
			return
		}
	}
	if !seed.Shape().Eq(out.Shape()) {
		g.fail("backward", fmt.Errorf("seed has shape %v, output %v", seed.Shape(), out.Shape()))
		return
	}
	g.reverse = true
	defer func() { g.reverse, g.earlier = false, nil }()
	grads := map[*Node]*Node{out: seed}
	for i := len(g.ops) - 1; i >= 0; i-- {
		o := g.ops[i]
		dout := grads[o.node]
		if dout == nil || !g.needs[o.node] {
			continue
		}
		g.offer(o, grads)
		ds, err := gorgonia.SDOp(o).SymDiff(o.in, o.node, dout)
		if err != nil {
			g.fail("gradient of "+o.name, err)
			return
		}
		for j, need := range o.DiffWRT(len(o.in)) {
			if !need {
				continue
			}
			if ds[j] == nil {
				g.fail("gradient of "+o.name, fmt.Errorf("input %d has none", j))
				return
			}
			c := o.in[j]
			if prev := grads[c]; prev != nil && g.adds[ds[j]] != prev {
				ds[j] = g.Add(prev, ds[j])
			}
			grads[c] = ds[j]
		}
	}
	for _, p := range g.params.All() {
		n := g.used[p.Name]
		if n == nil || !g.needs[n] {
			continue
		}
		if grads[n] == nil {
			g.fail("backward", fmt.Errorf("no gradient reaches parameter %q", p.Name))
			return
		}
		gorgonia.SetDerivOf(grads[n], n)
	}
	for n := range g.values {
		if d := grads[n]; d != nil && g.needs[n] {
			g.derivs[n] = d
			g.Keep(d) // it may be on its way to another input as well
		}
	}
}

// unit returns the seed of a loss: a constant 1.
func (g *Graph) unit(out *Node) *Node {
	if out.Shape().TotalSize() != 1 {
		return g.fail("backward", fmt.Errorf("an output of shape %v needs a seed gradient", out.Shape()))
	}
	if g.one == nil {
		g.one = g.Input("one", out.Shape()...)
		if g.one == nil {
			return nil
		}
		if err := g.eng.Write(g.Value(g.one), []float32{1}); err != nil {
			return g.fail("backward", err)
		}
	}
	return g.one
}

// NeedGrad marks an input as one whose gradient is wanted. Call it before the
// input is used.
func (g *Graph) NeedGrad(n *Node) {
	if n != nil {
		g.needs[n] = true
	}
}

// Detach makes n a constant for the gradient: what comes after it takes none from it. Call it
// before n is used. It returns n.
func (g *Graph) Detach(n *Node) *Node {
	if n != nil {
		g.needs[n] = false
	}
	return n
}

// GradOf returns the node that holds the gradient of an input or parameter
// after Backward, or nil.
func (g *Graph) GradOf(n *Node) *Node { return g.derivs[n] }
