package layers

import "fmt"

// Conv adds y (N, K, Ho, Wo) = x (N, C, H, W) * w (K, C, kh, kw) + bias (K).
// bias may be nil.
func (g *Graph) Conv(name string, x, w, bias *Node, spec ConvSpec) *Node {
	in := []*Node{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	if g.bad(name, in...) {
		return nil
	}
	xs, ws := x.Shape(), w.Shape()
	if len(xs) != 4 || len(ws) != 4 || xs[1] != ws[1] || ws[2] != spec.KernelH || ws[3] != spec.KernelW {
		return g.fail(name, fmt.Errorf("convolution %+v does not fit input %v and weights %v", spec, xs, ws))
	}
	if bias != nil && !sameShape(bias.Shape(), []int{ws[0]}) {
		return g.fail(name, fmt.Errorf("bias has shape %v, want (%d)", bias.Shape(), ws[0]))
	}
	ho, wo := spec.OutSize(xs[2], xs[3])
	if ho < 1 || wo < 1 {
		return g.fail(name, fmt.Errorf("a %dx%d kernel does not fit a %dx%d map", spec.KernelH, spec.KernelW, xs[2], xs[3]))
	}
	run := func(y Tensor, in []Tensor) error {
		e := Epilogue{}
		if len(in) == 3 {
			e.Shift = in[2]
		}
		return g.eng.Conv(y, in[0], in[1], spec, e)
	}
	return g.as(KindConv, spec).apply(name, []int{xs[0], ws[0], ho, wo}, in, run, func(dy *Node) []*Node {
		d := make([]*Node, len(in))
		if g.needs[x] {
			d[0] = g.apply(name+" grad input", xs, []*Node{dy, w}, func(dx Tensor, in []Tensor) error {
				return g.eng.ConvGradInput(dx, in[0], in[1], spec)
			}, nil)
		}
		shapes := [][]int{g.wanted(w), nil}
		if bias != nil {
			shapes[1] = g.wanted(bias)
		}
		if shapes[0] != nil || shapes[1] != nil {
			dwb := g.applyMulti(name+" grad weights", shapes, []*Node{dy, x}, func(out, in []Tensor) error {
				return g.eng.ConvGradWeights(out[0], out[1], in[0], in[1], spec)
			}, nil)
			copy(d[1:], dwb)
		}
		return d
	})
}

// wanted returns a node's shape if a gradient has to reach it, else nil.
func (g *Graph) wanted(n *Node) []int {
	if !g.needs[n] {
		return nil
	}
	return n.Shape()
}
