package layers

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// NormParams are the parameters of a normalization over axis 1, each (C).
type NormParams struct {
	Gamma, Beta *Node
	Mean, Var   *Node // running statistics
	Eps         float32
	Momentum    float32
	FrozenStats bool // use the running statistics instead of the batch's
}

// RunningStatistics are a mean and a variance, each (C), that a run moves by a share, Momentum,
// towards those of the batch: r becomes (1-Momentum)*r + Momentum*x.
type RunningStatistics struct {
	Mean, Var *Node
	Momentum  float32
}

// RunningStatistics returns those that a run of the graph moves, in the order in which they
// were added.
func (g *Graph) RunningStatistics() []RunningStatistics { return slices.Clone(g.moved) }

// BatchNorm adds batch normalization over axis 1 of (N, C) or (N, C, H, W).
// With the statistics of the batch it moves the running ones as it runs.
func (g *Graph) BatchNorm(name string, x *Node, p NormParams) *Node {
	in := []*Node{x, p.Gamma, p.Beta, p.Mean, p.Var}
	if g.bad(name, in...) {
		return nil
	}
	s := x.Shape()
	if len(s) != 2 && len(s) != 4 {
		return g.fail(name, fmt.Errorf("batch normalization needs (N, C) or (N, C, H, W), got %v", s))
	}
	for _, n := range in[1:] {
		if !sameShape(n.Shape(), []int{s[1]}) {
			return g.fail(name, fmt.Errorf("%s has shape %v, want (%d)", g.nameOf(n), n.Shape(), s[1]))
		}
	}
	if p.FrozenStats {
		return g.frozenNorm(name, in, p)
	}
	if s.TotalSize() == s[1] {
		return g.fail(name, fmt.Errorf("the statistics of a batch need more than one value a channel, input is %v", s))
	}
	if g.copied != "" {
		p.Momentum = 0
	} else {
		g.moved = append(g.moved, RunningStatistics{p.Mean, p.Var, p.Momentum})
	}
	c := []int{s[1]}
	var mean, invStd *Node
	// The second time it moves spare statistics, where it finds what was there before.
	d := g.as(KindBatchNorm, p.Eps).moving(p.Mean, p.Var).repeating([][]int{c, c}, func(out, in []engine.Tensor) error {
		return g.eng.BatchNorm(out[0], out[1], out[2], out[3], out[4], in[0], in[1], in[2], p.Eps, p.Momentum)
	})
	out := d.applyMulti(name, [][]int{s, c, c}, in, func(out, in []engine.Tensor) error {
		return g.eng.BatchNorm(out[0], out[1], out[2], in[3], in[4], in[0], in[1], in[2], p.Eps, p.Momentum)
	}, func(dy *Node) []*Node {
		d := g.does("batch norm grad").applyMulti(name+" grad", [][]int{g.wanted(x), g.wanted(p.Gamma), g.wanted(p.Beta)},
			[]*Node{dy, x, p.Gamma, mean, invStd}, func(out, in []engine.Tensor) error {
				return g.eng.BatchNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			}, nil)
		return append(d, nil, nil)
	})
	mean, invStd = out[1], out[2]
	return out[0]
}

func (g *Graph) frozenNorm(name string, in []*Node, p NormParams) *Node {
	x := in[0]
	return g.as(KindFrozenNorm, p.Eps).apply(name, x.Shape(), in, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.FrozenNorm(y, in[0], in[1], in[2], in[3], in[4], p.Eps)
	}, func(dy *Node) []*Node {
		d := g.does("frozen norm grad").applyMulti(name+" grad", [][]int{g.wanted(x), g.wanted(p.Gamma), g.wanted(p.Beta)},
			[]*Node{dy, x, p.Gamma, p.Mean, p.Var}, func(out, in []engine.Tensor) error {
				return g.eng.FrozenNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], p.Eps)
			}, nil)
		return append(d, nil, nil)
	})
}

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
		does := g.does("layer norm grad").summing(1, 2)
		if _, ok := g.sums(); ok {
			does = does.summable(0, 3)
		}
		d := does.applyMulti(name+" grad", [][]int{g.wanted(x), g.wanted(gamma), g.wanted(beta), nil}, in, func(out, in []engine.Tensor) error {
			if out[3] != nil {
				return g.eng.(engine.Summer).LayerNormGradSums(out[0], out[3], optional(in, at), out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			}
			if at >= 0 {
				return g.eng.(engine.Accumulator).AddLayerNormGrad(out[0], in[at], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			}
			return g.eng.LayerNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
		}, nil)
		if sum != nil {
			g.adds[d[0]] = sum
			g.mayOverwrite(d[0], at)
		}
		return []*Node{d[0], g.sum(name+" grad gamma", d[1]), g.sum(name+" grad beta", d[2])}
	})
	mean, invStd = out[1], out[2]
	return out[0]
}

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
