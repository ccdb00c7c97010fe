package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Linear adds y (..., out) = x (..., in) w^T + bias, with w (out, in) and bias
// (out) or nil: of rows (B, in), or of tokens (B, T, in).
func (g *Graph) Linear(name string, x, w, bias *Node) *Node {
	in := []*Node{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	if g.bad(name, in...) {
		return nil
	}
	xs, ws := x.Shape(), w.Shape()
	if len(xs) < 2 || len(ws) != 2 || xs[len(xs)-1] != ws[1] {
		return g.fail(name, fmt.Errorf("input %v does not fit weights %v", xs, ws))
	}
	if bias != nil && !sameShape(bias.Shape(), []int{ws[0]}) {
		return g.fail(name, fmt.Errorf("bias has shape %v, want (%d)", bias.Shape(), ws[0]))
	}
	if len(xs) == 3 { // of activations
		for i := range in[1:] {
			in[1+i] = g.operand(in[1+i])
		}
		w = in[1]
	}
	run := func(y engine.Tensor, in []engine.Tensor) error {
		var b engine.Tensor
		if len(in) == 3 {
			b = in[2]
		}
		return g.eng.Linear(y, in[0], in[1], b)
	}
	ys := xs.Clone()
	ys[len(ys)-1] = ws[0]
	product := 2 * ys.TotalSize() * ws[1]
	return g.as(KindLinear, nil).flops(product).apply(name, ys, in, run, func(dy *Node) []*Node {
		shapes := [][]int{g.wanted(x), g.wanted(w), nil}
		if bias != nil {
			shapes[2] = g.wanted(bias)
		}
		d := g.does("linear grad").flops(product*count(shapes[:2])).summing(2).applyMulti(name+" grad", shapes, []*Node{dy, x, w}, func(out, in []engine.Tensor) error {
			return g.eng.LinearGrad(out[0], out[1], out[2], in[0], in[1], in[2])
		}, nil)
		d[2] = g.sum(name+" grad bias", d[2])
		return d[:len(in)]
	})
}
