package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

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
		dx := g.does("gelu grad").apply(name+" grad", x.Shape(), []*Node{dy, x}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.GELUGrad(dx, in[0], in[1], form)
		}, nil)
		return []*Node{g.mayOverwrite(dx, 0)}
	})
	return g.mayOverwrite(y, 0)
}
