package layers

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/vernier-ml/vernier/engine"
)

// Conv adds y (N, K, Ho, Wo) = x (N, C, H, W) * w (K, C, kh, kw) + bias (K).
// bias may be nil. With spec.Depthwise w is (C, 1, kh, kw).
func (g *Graph) Conv(name string, x, w, bias *Node, spec engine.ConvSpec) *Node {
	in := []*Node{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	if g.bad(name, in...) {
		return nil
	}
	shape, err := convShape(x, w, spec)
	if err != nil {
		return g.fail(name, err)
	}
	w = g.operand(w)
	in[1] = w
	if bias != nil && !sameShape(bias.Shape(), shape[1:2]) {
		return g.fail(name, fmt.Errorf("bias has shape %v, want (%d)", bias.Shape(), shape[1]))
	}
	run := func(y engine.Tensor, in []engine.Tensor) error {
		e := engine.Epilogue{}
		if len(in) == 3 {
			e.Shift = in[2]
		}
		return g.eng.Conv(y, in[0], in[1], spec, e)
	}
	product := convProduct(shape, w)
	return g.as(KindConv, spec).flops(product).apply(name, shape, in, run, func(dy *Node) []*Node {
		d := make([]*Node, len(in))
		shapes := [][]int{g.wanted(w), nil}
		if bias != nil {
			shapes[1] = g.wanted(bias)
			if sums := g.sumsOf(dy, shapes[1]); sums != nil {
				d[2], shapes[1] = g.sum(name+" grad bias", sums), nil
			}
		}
		if shapes[0] != nil || shapes[1] != nil { // first, so that dx may take the place of x
			dwb := g.does("conv grad weights").flops(product*count(shapes[:1])).summing(1).applyMulti(name+" grad weights", shapes, []*Node{dy, x}, func(out, in []engine.Tensor) error {
				return g.eng.ConvGradWeights(out[0], out[1], in[0], in[1], spec)
			}, nil)
			d[1] = dwb[0]
			if shapes[1] != nil {
				d[2] = g.sum(name+" grad bias", dwb[1])
			}
		}
		if g.needs[x] {
			d[0] = g.convGradInput(name+" grad input", x, dy, w, spec, product)
		}
		return d
	})
}

// convProduct counts the operations of x * w: every number of y, of that shape, is a
// sum over a row of the weights.
func convProduct(y []int, w *Node) int {
	return 2 * tensor.Shape(y).TotalSize() * w.Shape().TotalSize() / w.Shape()[0]
}

// convShape returns the shape of x * w.
func convShape(x, w *Node, spec engine.ConvSpec) ([]int, error) {
	xs, ws := x.Shape(), w.Shape()
	fits := func() bool {
		if spec.Depthwise {
			return xs[1] == ws[0] && ws[1] == 1
		}
		return xs[1] == ws[1]
	}
	if len(xs) != 4 || len(ws) != 4 || !fits() || ws[2] != spec.KernelH || ws[3] != spec.KernelW {
		return nil, fmt.Errorf("convolution %+v does not fit input %v and weights %v", spec, xs, ws)
	}
	ho, wo := spec.OutSize(xs[2], xs[3])
	if ho < 1 || wo < 1 {
		return nil, fmt.Errorf("a %dx%d kernel does not fit a %dx%d map", spec.KernelH, spec.KernelW, xs[2], xs[3])
	}
	return []int{xs[0], ws[0], ho, wo}, nil
}

// wanted returns a node's shape if a gradient has to reach it, else nil.
func (g *Graph) wanted(n *Node) []int {
	if !g.needs[n] {
		return nil
	}
	return n.Shape()
}
