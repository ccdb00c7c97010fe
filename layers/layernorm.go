package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// LayerNorm adds the normalization of every row along the last axis of x
// (..., D) by the row's own mean and biased variance, times gamma (D), plus
// beta (D) (Ba et al. 2016).
func (g *Graph) LayerNorm(name string, x, gamma, beta *Node, eps float32) *Node {
	in := []*Node{x, gamma, beta}
	if g.bad(name, in...) {
		return nil
	}
	s := x.Shape()
	if len(s) < 2 {
		return g.fail(name, fmt.Errorf("layer normalization needs (..., D) with leading axes, got %v", s))
	}
	for _, n := range in[1:] {
		if !sameShape(n.Shape(), s[len(s)-1:]) {
			return g.fail(name, fmt.Errorf("%s has shape %v, want (%d)", g.nameOf(n), n.Shape(), s[len(s)-1]))
		}
	}
	if !(eps > 0) {
		return g.fail(name, fmt.Errorf("layer normalization needs a positive eps, got %v: a row of equal numbers has no variance", eps))
	}
	rows := s[:len(s)-1]
	var mean, invStd *Node
	out := g.as(KindLayerNorm, eps).applyMulti(name, [][]int{s, rows, rows}, in, func(out, in []engine.Tensor) error {
		return g.eng.LayerNorm(out[0], out[1], out[2], in[0], in[1], in[2], eps)
	}, func(dy *Node) []*Node {
		in := inputs{dy, x, gamma, mean, invStd}
		sum := g.earlier[x]
		at := in.add(sum)
		d := g.does("layer norm grad").summing(1, 2).applyMulti(name+" grad", [][]int{g.wanted(x), g.wanted(gamma), g.wanted(beta)}, in, func(out, in []engine.Tensor) error {
			if at >= 0 {
				return g.eng.(engine.Accumulator).AddLayerNormGrad(out[0], in[at], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			}
			return g.eng.LayerNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
		}, nil)
		if sum != nil {
			g.adds[d[0]] = sum
			g.mayOverwrite(d[0], at)
		}
		d[1], d[2] = g.sum(name+" grad gamma", d[1]), g.sum(name+" grad beta", d[2])
		return d
	})
	mean, invStd = out[1], out[2]
	return out[0]
}
