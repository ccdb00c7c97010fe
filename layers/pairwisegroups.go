package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// PairwiseGroups adds the metric's values within groups of k consecutive rows of a
// (n, h), n being a multiple of k: row i of d (n, k) is that of a_i and the k rows
// of its group, among which it is itself.
func (g *Graph) PairwiseGroups(name string, a *Node, k int, m metric.Metric) *Node {
	if g.bad(name, a) {
		return nil
	}
	as := a.Shape()
	if len(as) != 2 || k < 1 || as[0]%k != 0 {
		return g.fail(name, fmt.Errorf("rows of %v do not lie in groups of %d", as, k))
	}
	if err := m.Validate(); err != nil {
		return g.fail(name, err)
	}
	var d *Node
	product := 2 * as[0] * k * as[1]
	d = g.does("pairwise groups").flops(product).apply(name, []int{as[0], k}, []*Node{a}, func(d engine.Tensor, in []engine.Tensor) error {
		return g.eng.PairwiseGroups(d, in[0], m)
	}, func(dd *Node) []*Node {
		return []*Node{g.does("pairwise groups grad").flops(2*product).apply(name+" grad", as, []*Node{dd, d, a}, func(da engine.Tensor, in []engine.Tensor) error {
			return g.eng.PairwiseGroupsGrad(da, in[0], in[1], in[2], m)
		}, nil)}
	})
	return d
}
