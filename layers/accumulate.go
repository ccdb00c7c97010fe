package layers

import "github.com/vernier-ml/vernier/engine"

// Where a value is used more than once its gradients meet, and an addition would read
// two and write a third. On an Accumulator an op that computes one adds it to what is
// there already.

// accumulates reports whether ops may add what they compute to something else.
func (g *Graph) accumulates() bool {
	_, ok := g.eng.(engine.Accumulator)
	return ok && !g.unfused
}

// offer makes the gradients that inputs of o have so far known to the gradient of o, which
// may add to them.
func (g *Graph) offer(o *op, grads map[*Node]*Node) {
	g.earlier = nil
	if !g.accumulates() {
		return
	}
	uses := map[*Node]int{}
	for _, n := range o.in {
		uses[n]++
	}
	g.earlier = map[*Node]*Node{}
	for n, times := range uses {
		if prev := grads[n]; prev != nil && times == 1 && g.needs[n] {
			g.earlier[n] = prev
		}
	}
}

// convGradInput adds the gradient of x (*) w with respect to x, plus that which x has
// already where the engine can add to it.
func (g *Graph) convGradInput(name string, x, dy, w *Node, spec engine.ConvSpec, product int) *Node {
	sum := g.earlier[x]
	if sum == nil {
		return g.does("conv grad input").flops(product).apply(name, x.Shape(), []*Node{dy, w}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.ConvGradInput(dx, in[0], in[1], spec)
		}, nil)
	}
	d := g.does("conv grad input").flops(product).apply(name, x.Shape(), []*Node{dy, w, sum}, func(dx engine.Tensor, in []engine.Tensor) error {
		return g.eng.(engine.Accumulator).AddConvGradInput(dx, in[2], in[0], in[1], spec)
	}, nil)
	g.adds[d] = sum
	return g.mayOverwrite(d, 2)
}
