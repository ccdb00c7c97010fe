package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Add adds a + b, of equal shapes.
func (g *Graph) Add(a, b *Node) *Node {
	name := fmt.Sprintf("add %d", len(g.ops))
	if g.bad(name, a, b) {
		return nil
	}
	if !sameShape(a.Shape(), b.Shape()) {
		return g.fail(name, fmt.Errorf("%s %v and %s %v differ in shape", g.nameOf(a), a.Shape(), g.nameOf(b), b.Shape()))
	}
	sum := g.as(KindAdd, nil).apply(name, a.Shape(), []*Node{a, b}, func(dst engine.Tensor, in []engine.Tensor) error {
		return g.eng.Add(dst, in[0], in[1])
	}, func(dy *Node) []*Node { return []*Node{dy, dy} })
	return g.mayOverwrite(sum, 0, 1)
}

// Concat joins maps along the channel axis.
func (g *Graph) Concat(name string, xs ...*Node) *Node {
	if g.bad(name, xs...) {
		return nil
	}
	if len(xs) == 0 {
		return g.fail(name, fmt.Errorf("nothing to join"))
	}
	shape := append([]int(nil), xs[0].Shape()...)
	if len(shape) < 2 {
		return g.fail(name, fmt.Errorf("%s has shape %v, without channels", g.nameOf(xs[0]), shape))
	}
	shape[1] = 0
	for _, x := range xs {
		s := append([]int(nil), x.Shape()...)
		if len(s) != len(shape) {
			return g.fail(name, fmt.Errorf("%s %v cannot join %s %v", g.nameOf(x), s, g.nameOf(xs[0]), xs[0].Shape()))
		}
		c := s[1]
		s[1] = shape[1]
		if !sameShape(s, shape) {
			return g.fail(name, fmt.Errorf("%s %v cannot join %s %v", g.nameOf(x), x.Shape(), g.nameOf(xs[0]), xs[0].Shape()))
		}
		shape[1] += c
	}
	var y *Node
	y = g.as(KindConcat, nil).apply(name, shape, xs, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Concat(y, in...)
	}, func(dy *Node) []*Node {
		if _, ok := g.eng.(engine.Joiner); ok && !g.unfused && len(shape) == 4 {
			return g.concatGrad(name, dy, y, xs)
		}
		d := make([]*Node, len(xs))
		from := 0
		for i, x := range xs {
			if g.needs[x] {
				d[i] = g.partGrad(fmt.Sprintf("%s grad %d", name, i), dy, y, x, from)
			}
			from += x.Shape()[1]
		}
		return d
	})
	return y
}

// concatGrad adds the gradients of all inputs of a concatenation y as one op, see partGrad.
func (g *Graph) concatGrad(name string, dy, y *Node, xs []*Node) []*Node {
	inputs := make([]engine.ConcatInput, len(xs))
	shapes := make([][]int, 2*len(xs)) // of the gradients, and of their sums
	d, in, read, masked := g.does("concat grad").alike(len(xs)), []*Node{dy}, 0, 0
	_, sums := g.sums()
	for i, x := range xs {
		o := g.byNode[x]
		inputs[i] = engine.ConcatInput{C: x.Shape()[1], Rectified: o != nil && o.rectified}
		shapes[i] = g.wanted(x)
		if shapes[i] == nil {
			continue
		}
		read += x.Shape().TotalSize()
		if inputs[i].Rectified {
			masked += x.Shape().TotalSize()
		}
		if sums {
			d = d.summable(i, len(xs)+i)
		}
	}
	if d = d.reading(read); masked > 0 {
		in, d = append(in, y), d.reading(read, masked)
	}
	grads := d.applyMulti(name+" grad", shapes, in, func(out, in []engine.Tensor) error {
		for i := range inputs {
			inputs[i].DX, inputs[i].Sums = out[i], out[len(xs)+i]
		}
		var y engine.Tensor
		if masked > 0 {
			y = in[1]
		}
		return g.eng.(engine.Joiner).ConcatGrad(inputs, in[0], y)
	}, nil)[:len(xs)]
	for i, x := range xs {
		if grads[i] != nil && inputs[i].Rectified {
			g.masked[grads[i]] = x
		}
	}
	return grads
}

// partGrad adds the gradient of x, which is channels from on of y. Where x is the
// output of a ReLU the joined y says as well as x where that let its input pass:
// so x need not be kept for the reverse pass, only y, which what follows reads
// anyway.
func (g *Graph) partGrad(name string, dy, y, x *Node, from int) *Node {
	size := x.Shape().TotalSize()
	if o := g.byNode[x]; o == nil || !o.rectified {
		return g.does("slice").reading(size).apply(name, x.Shape(), []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.Slice(dx, in[0], from)
		}, nil)
	}
	d := g.does("slice relu grad").reading(size, size).apply(name, x.Shape(), []*Node{dy, y}, func(dx engine.Tensor, in []engine.Tensor) error {
		return g.eng.SliceReLUGrad(dx, in[0], in[1], from)
	}, nil)
	g.masked[d] = x
	return d
}
