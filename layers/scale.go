package layers

import "github.com/vernier-ml/vernier/engine"

// Scale adds s * x.
func (g *Graph) Scale(name string, x *Node, s float32) *Node {
	if g.bad(name, x) {
		return nil
	}
	y := g.as(KindScale, s).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Scale(y, in[0], s)
	}, func(dy *Node) []*Node {
		dx := g.does("scale").apply(name+" grad", x.Shape(), []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.Scale(dx, in[0], s)
		}, nil)
		return []*Node{g.mayOverwrite(dx, 0)}
	})
	return g.mayOverwrite(y, 0)
}
