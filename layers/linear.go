package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Linear adds y (..., out) = x (..., in) w^T + bias, with w (out, in) and bias
// (out) or nil: of rows (B, in), or of tokens (B, T, in).
func (g *Graph) Linear(name string, x, w, bias *Node) *Node { return g.linear(name, x, w, bias, nil) }

// linear is Linear with its output added to a residual, on an Accumulator, unless that is
// nil.
func (g *Graph) linear(name string, x, w, bias, residual *Node) *Node {
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
	ys := xs.Clone()
	ys[len(ys)-1] = ws[0]
	product := 2 * ys.TotalSize() * ws[1]
	d := g.as(KindLinear, nil)
	if residual != nil {
		if g.bad(name, residual) {
			return nil
		}
		if !sameShape(residual.Shape(), ys) {
			return g.fail(name, fmt.Errorf("residual has shape %v, want %v", residual.Shape(), ys))
		}
		d = g.does("linear, added")
	}
	products := len(in) // inputs, without the residual
	if residual != nil {
		in = append(in, residual)
	}
	run := func(y engine.Tensor, in []engine.Tensor) error {
		var b engine.Tensor
		if products == 3 {
			b = in[2]
		}
		if residual != nil {
			return g.eng.(engine.Accumulator).AddLinear(y, in[products], in[0], in[1], b)
		}
		return g.eng.Linear(y, in[0], in[1], b)
	}
	return d.flops(product).apply(name, ys, in, run, func(dy *Node) []*Node {
		shapes := [][]int{g.wanted(x), g.wanted(w), nil}
		var sums *Node
		if bias != nil {
			shapes[2] = g.wanted(bias)
			if sums = g.sumsOf(dy, shapes[2]); sums != nil {
				shapes[2] = nil
			}
		}
		if count(shapes) == 0 && sums != nil {
			return []*Node{nil, nil, g.sum(name+" grad bias", sums), dy}[:len(in)]
		}
		d := g.does("linear grad").flops(product*count(shapes[:2])).summing(2).applyMulti(name+" grad", shapes, []*Node{dy, x, w}, func(out, in []engine.Tensor) error {
			return g.eng.LinearGrad(out[0], out[1], out[2], in[0], in[1], in[2])
		}, nil)
		if sums == nil {
			sums = d[2]
		}
		d[2] = g.sum(name+" grad bias", sums)
		d = d[:products]
		if residual != nil {
			d = append(d, dy)
		}
		return d
	})
}
