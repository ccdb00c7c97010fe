package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// ClassLoss adds a scalar, of shape (1), that f computes on the engine, and with it
// dd, the derivative with respect to d (B, C), which is nil where nobody needs it.
// labels (B) take no gradient.
func (g *Graph) ClassLoss(name string, d, labels *Node, f func(loss, dd, d, labels engine.Tensor) error) *Node {
	if g.bad(name, d, labels) {
		return nil
	}
	if rows, of := d.Shape(), labels.Shape(); len(rows) != 2 || len(of) != 1 || rows[0] != of[0] {
		return g.fail(name, fmt.Errorf("values of shape %v with labels of shape %v", rows, of))
	}
	var out []*Node
	out = g.doesLoss("class loss").applyMulti(name, [][]int{{1}, g.wanted(d)}, []*Node{d, labels}, func(out, in []engine.Tensor) error {
		return f(out[0], out[1], in[0], in[1])
	}, func(dl *Node) []*Node {
		if dl == g.one {
			return []*Node{out[1], nil}
		}
		return []*Node{g.timesScalar(name+" grad", out[1], dl), nil}
	})
	return out[0]
}
