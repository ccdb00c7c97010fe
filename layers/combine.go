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
