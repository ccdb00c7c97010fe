package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Map adds the map (B, D, h, w) whose places, row by row, are the tokens x (B, h*w, D): the
// inverse of Tokens without prefix and positions.
func (g *Graph) Map(name string, x *Node, h, w int) *Node {
	if g.bad(name, x) {
		return nil
	}
	s := x.Shape()
	if len(s) != 3 || s[1] != h*w {
		return g.fail(name, fmt.Errorf("no map of %d x %d places is made of %v, which should be (B, %d, D)", h, w, s, h*w))
	}
	return g.as(KindMap, [2]int{h, w}).apply(name, []int{s[0], s[2], h, w}, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.TokensGrad(y, nil, nil, in[0])
	}, func(dy *Node) []*Node {
		return []*Node{g.does("map grad").apply(name+" grad", s, []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.Tokens(dx, in[0], nil, nil)
		}, nil)}
	})
}
