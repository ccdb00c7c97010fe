package layers

// ReLU adds y = max(x, 0), with gradient 0 at 0.
func (g *Graph) ReLU(name string, x *Node) *Node {
	if g.bad(name, x) {
		return nil
	}
	var y *Node
	y = g.as(KindReLU, nil).apply(name, x.Shape(), []*Node{x}, func(y Tensor, in []Tensor) error {
		return g.eng.ReLU(y, in[0])
	}, func(dy *Node) []*Node {
		dx := g.apply(name+" grad", x.Shape(), []*Node{dy, y}, func(dx Tensor, in []Tensor) error {
			return g.eng.ReLUGrad(dx, in[0], in[1])
		}, nil)
		return []*Node{g.mayOverwrite(dx, 0)}
	})
	return g.mayOverwrite(y, 0)
}
