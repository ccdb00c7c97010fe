package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Tokens adds the sequence of the positions of a map x (B, D, H, W), row by
// row: (B, P+H*W, D). prefix (1, P, D), the class token, goes before them, and
// pos (1, P+H*W, D), the position embedding, is added to every image; either
// may be nil (Dosovitskiy et al. 2021, Eq. 1).
func (g *Graph) Tokens(name string, x, prefix, pos *Node) *Node {
	var in inputs
	in.add(x)
	prefixAt, posAt := in.add(prefix), in.add(pos)
	if g.bad(name, in...) {
		return nil
	}
	s := x.Shape()
	if len(s) != 4 {
		return g.fail(name, fmt.Errorf("tokens are made of (B, D, H, W), got %v", s))
	}
	shape := []int{s[0], s[2] * s[3], s[1]}
	if prefix != nil {
		p := prefix.Shape()
		if len(p) != 3 || p[0] != 1 || p[2] != s[1] {
			return g.fail(name, fmt.Errorf("%s has shape %v, want (1, P, %d) for a map %v", g.nameOf(prefix), p, s[1], s))
		}
		shape[1] += p[1]
	}
	if pos != nil && !sameShape(pos.Shape(), []int{1, shape[1], s[1]}) {
		return g.fail(name, fmt.Errorf("%s has shape %v, want (1, %d, %d) for a map %v", g.nameOf(pos), pos.Shape(), shape[1], s[1], s))
	}
	run := func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Tokens(y, in[0], optional(in, prefixAt), optional(in, posAt))
	}
	return g.as(KindTokens, TokensSpec{prefix != nil, pos != nil}).apply(name, shape, in, run, func(dy *Node) []*Node {
		shapes := [][]int{g.wanted(x), nil, nil}
		if prefix != nil {
			shapes[1] = g.wanted(prefix)
		}
		if pos != nil {
			shapes[2] = g.wanted(pos)
		}
		d := g.does("tokens grad").applyMulti(name+" grad", shapes, []*Node{dy}, func(out, in []engine.Tensor) error {
			return g.eng.TokensGrad(out[0], out[1], out[2], in[0])
		}, nil)
		ds := make([]*Node, len(in))
		ds[0] = d[0]
		if prefix != nil {
			ds[prefixAt] = d[1]
		}
		if pos != nil {
			ds[posAt] = d[2]
		}
		return ds
	})
}

// Token adds token i of x (B, T, D): (B, D). Token 0 is the class token.
func (g *Graph) Token(name string, x *Node, i int) *Node {
	if g.bad(name, x) {
		return nil
	}
	s := x.Shape()
	if len(s) != 3 || i < 0 || i >= s[1] {
		return g.fail(name, fmt.Errorf("no token %d in %v, which should be (B, T, D)", i, s))
	}
	return g.as(KindToken, i).reading(s[0]*s[2]).apply(name, []int{s[0], s[2]}, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Token(y, in[0], i)
	}, func(dy *Node) []*Node {
		return []*Node{g.does("token grad").apply(name+" grad", s, []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.TokenGrad(dx, in[0], i)
		}, nil)}
	})
}

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
