package layers

import "github.com/vernier-ml/vernier/engine"

// Softmax adds exp(x) / sum exp(x) along the last axis of x.
func (g *Graph) Softmax(name string, x *Node) *Node {
	return g.alongRows(KindSoftmax, name, x, engine.Engine.Softmax, engine.Engine.SoftmaxGrad)
}

// LogSoftmax adds x - log sum exp(x) along the last axis of x.
func (g *Graph) LogSoftmax(name string, x *Node) *Node {
	return g.alongRows(KindLogSoftmax, name, x, engine.Engine.LogSoftmax, engine.Engine.LogSoftmaxGrad)
}

// alongRows adds an op whose gradient follows from its output.
func (g *Graph) alongRows(kind Kind, name string, x *Node, run func(e engine.Engine, y, x engine.Tensor) error, grad func(e engine.Engine, dx, dy, y engine.Tensor) error) *Node {
	if g.bad(name, x) {
		return nil
	}
	var y *Node
	y = g.as(kind, nil).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return run(g.eng, y, in[0])
	}, func(dy *Node) []*Node {
		dx := g.does(kind.String()+" grad").apply(name+" grad", x.Shape(), []*Node{dy, y}, func(dx engine.Tensor, in []engine.Tensor) error {
			return grad(g.eng, dx, in[0], in[1])
		}, nil)
		return []*Node{g.mayOverwrite(dx, 0)}
	})
	return g.mayOverwrite(y, 0)
}
