package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// MaxPool adds the maximum of each window; padding counts as -infinity.
func (g *Graph) MaxPool(name string, x *Node, spec engine.PoolSpec) *Node {
	shape, ok := g.poolShape(name, x, spec)
	if !ok {
		return nil
	}
	var y *Node
	y = g.as(KindMaxPool, spec).apply(name, shape, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.MaxPool(y, in[0], spec)
	}, func(dy *Node) []*Node {
		return []*Node{g.does("max pool grad").apply(name+" grad", x.Shape(), []*Node{dy, x, y}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.MaxPoolGrad(dx, in[0], in[1], in[2], spec)
		}, nil)}
	})
	return y
}

// AvgPool adds the mean of each window, see PoolSpec.CountPad.
func (g *Graph) AvgPool(name string, x *Node, spec engine.PoolSpec) *Node {
	shape, ok := g.poolShape(name, x, spec)
	if !ok {
		return nil
	}
	return g.as(KindAvgPool, spec).apply(name, shape, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.AvgPool(y, in[0], spec)
	}, func(dy *Node) []*Node {
		return []*Node{g.does("average pool grad").apply(name+" grad", x.Shape(), []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.AvgPoolGrad(dx, in[0], spec)
		}, nil)}
	})
}

func (g *Graph) poolShape(name string, x *Node, spec engine.PoolSpec) ([]int, bool) {
	if g.bad(name, x) {
		return nil, false
	}
	s := x.Shape()
	if len(s) != 4 {
		g.fail(name, fmt.Errorf("pooling needs (N, C, H, W), got %v", s))
		return nil, false
	}
	ho, wo := spec.OutSize(s[2], s[3])
	if ho < 1 || wo < 1 {
		g.fail(name, fmt.Errorf("a %dx%d window does not fit a %dx%d map", spec.KernelH, spec.KernelW, s[2], s[3]))
		return nil, false
	}
	return []int{s[0], s[1], ho, wo}, true
}

// GlobalAvg adds the mean over positions: (N, C, H, W) -> (N, C).
func (g *Graph) GlobalAvg(name string, x *Node) *Node {
	if !g.isMap(name, x) {
		return nil
	}
	return g.as(KindGlobalAvg, nil).apply(name, x.Shape()[:2], []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.GlobalAvg(y, in[0])
	}, func(dy *Node) []*Node {
		return []*Node{g.does("global average grad").apply(name+" grad", x.Shape(), []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.GlobalAvgGrad(dx, in[0])
		}, nil)}
	})
}

// GlobalMax adds the maximum over positions: (N, C, H, W) -> (N, C).
func (g *Graph) GlobalMax(name string, x *Node) *Node {
	if !g.isMap(name, x) {
		return nil
	}
	var y *Node
	y = g.as(KindGlobalMax, nil).apply(name, x.Shape()[:2], []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.GlobalMax(y, in[0])
	}, func(dy *Node) []*Node {
		return []*Node{g.does("global max grad").apply(name+" grad", x.Shape(), []*Node{dy, x, y}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.GlobalMaxGrad(dx, in[0], in[1], in[2])
		}, nil)}
	})
	return y
}

func (g *Graph) isMap(name string, x *Node) bool {
	if g.bad(name, x) {
		return false
	}
	if len(x.Shape()) != 4 {
		g.fail(name, fmt.Errorf("global pooling needs (N, C, H, W), got %v", x.Shape()))
		return false
	}
	return true
}
