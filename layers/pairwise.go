package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// Pairwise adds the matrix d (n, k) of metric values between the rows of a
// (n, h) and b (k, h). a and b may be the same node: each value is then that
// of two rows of one batch, and the gradient counts both.
func (g *Graph) Pairwise(name string, a, b *Node, m metric.Metric) *Node {
	if g.bad(name, a, b) {
		return nil
	}
	as, bs := a.Shape(), b.Shape()
	if len(as) != 2 || len(bs) != 2 || as[1] != bs[1] {
		return g.fail(name, fmt.Errorf("rows of %v and %v cannot be compared", as, bs))
	}
	if err := m.Validate(); err != nil {
		return g.fail(name, err)
	}
	shape := []int{as[0], bs[0]}
	product := 2 * as[0] * bs[0] * as[1] // operations of the matrix of dot products
	var d *Node
	if a == b {
		d = g.as(KindPairwise, m).flops(product).apply(name, shape, []*Node{a}, func(d engine.Tensor, in []engine.Tensor) error {
			return g.eng.Pairwise(d, in[0], in[0], m)
		}, func(dd *Node) []*Node {
			return []*Node{g.does("pairwise grad").flops(2*product).apply(name+" grad", as, []*Node{dd, d, a}, func(da engine.Tensor, in []engine.Tensor) error {
				return g.eng.PairwiseGrad(da, da, in[0], in[1], in[2], in[2], m)
			}, nil)}
		})
		return d
	}
	d = g.as(KindPairwise, m).flops(product).apply(name, shape, []*Node{a, b}, func(d engine.Tensor, in []engine.Tensor) error {
		return g.eng.Pairwise(d, in[0], in[1], m)
	}, func(dd *Node) []*Node {
		shapes := [][]int{g.wanted(a), g.wanted(b)}
		return g.does("pairwise grad").flops(product*count(shapes)).applyMulti(name+" grad", shapes, []*Node{dd, d, a, b}, func(out, in []engine.Tensor) error {
			return g.eng.PairwiseGrad(out[0], out[1], in[0], in[1], in[2], in[3], m)
		}, nil)
	})
	return d
}

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
