package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// ReLU adds y = max(x, 0), with gradient 0 at 0.
func (g *Graph) ReLU(name string, x *Node) *Node {
	if g.bad(name, x) {
		return nil
	}
	var y *Node
	y = g.as(KindReLU, nil).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.ReLU(y, in[0])
	}, func(dy *Node) []*Node { return []*Node{g.rectifiedGrad(name, dy, y)} })
	if o := g.byNode[y]; o != nil {
		o.rectified = true
	}
	return g.mayOverwrite(y, 0)
}

// ReLU6 adds y = min(max(x, 0), 6), with gradient 0 at 0 and at 6.
func (g *Graph) ReLU6(name string, x *Node) *Node {
	if g.bad(name, x) {
		return nil
	}
	var y *Node
	y = g.as(KindReLU6, nil).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.ReLU6(y, in[0])
	}, func(dy *Node) []*Node { return []*Node{g.boundedGrad(name, dy, y)} })
	return g.mayOverwrite(y, 0)
}

// boundedGrad adds dy where y, the output of a ReLU6, is between 0 and 6, else 0.
func (g *Graph) boundedGrad(name string, dy, y *Node) *Node {
	return g.gradAndSums(g.does("relu6 grad"), name, dy, y, func(dx, sums, dy, y engine.Tensor) error {
		if sums != nil {
			return g.eng.(engine.Summer).ReLU6GradSums(dx, sums, dy, y)
		}
		return g.eng.ReLU6Grad(dx, dy, y)
	})
}

// rectifiedGrad adds dy where y, the output of a ReLU, is above 0, else 0; dy
// itself if it is so already.
func (g *Graph) rectifiedGrad(name string, dy, y *Node) *Node {
	if g.masked[dy] == y {
		return dy
	}
	return g.gradAndSums(g.does("relu grad"), name, dy, y, func(dx, sums, dy, y engine.Tensor) error {
		if sums != nil {
			return g.eng.(engine.Summer).ReLUGradSums(dx, sums, dy, y)
		}
		return g.eng.ReLUGrad(dx, dy, y)
	})
}

// gradAndSums adds a gradient dx, computed element by element of dy and x, and its sums if
// they are asked for; sums is nil otherwise.
func (g *Graph) gradAndSums(d describer, name string, dy, x *Node, run func(dx, sums, dy, x engine.Tensor) error) *Node {
	shapes := [][]int{x.Shape(), nil}
	if _, ok := g.sums(); ok {
		d = d.summable(0, 1)
	}
	dx := d.applyMulti(name+" grad", shapes, []*Node{dy, x}, func(out, in []engine.Tensor) error {
		return run(out[0], out[1], in[0], in[1])
	}, nil)
	return g.mayOverwrite(dx[0], 0)
}

// GELU adds the Gaussian error linear unit of x, of any shape.
func (g *Graph) GELU(name string, x *Node, form engine.GELUForm) *Node {
	if g.bad(name, x) {
		return nil
	}
	if !form.Known() {
		return g.fail(name, fmt.Errorf("form %d of GELU is none, want GELUErf, GELUTanh or GELUQuick", form))
	}
	y := g.as(KindGELU, form).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.GELU(y, in[0], form)
	}, func(dy *Node) []*Node {
		return []*Node{g.gradAndSums(g.does("gelu grad"), name, dy, x, func(dx, sums, dy, x engine.Tensor) error {
			if sums != nil {
				return g.eng.(engine.Summer).GELUGradSums(dx, sums, dy, x, form)
			}
			return g.eng.GELUGrad(dx, dy, x, form)
		})}
	})
	return g.mayOverwrite(y, 0)
}

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
