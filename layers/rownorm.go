package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// RowNorm adds the rows of x (B, h) brought to a common length, see RowNormSpec.
func (g *Graph) RowNorm(name string, x *Node, spec engine.RowNormSpec) *Node {
	if g.bad(name, x) {
		return nil
	}
	if len(x.Shape()) != 2 {
		return g.fail(name, fmt.Errorf("row normalization needs (B, h), got %v", x.Shape()))
	}
	if !(spec.Eps > 0) {
		return g.fail(name, fmt.Errorf("row normalization needs a positive Eps, got %v: a zero row has no direction", spec.Eps))
	}
	return g.as(KindRowNorm, spec).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.RowNorm(y, in[0], spec)
	}, func(dy *Node) []*Node {
		return []*Node{g.does("row norm grad").apply(name+" grad", x.Shape(), []*Node{dy, x}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.RowNormGrad(dx, in[0], in[1], spec)
		}, nil)}
	})
}
