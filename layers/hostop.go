package layers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// Array is a tensor as the host sees it: numbers in row-major order.
type Array struct {
	Shape []int
	V     []float32
}

// HostOp is an operation of a program's own, with its gradient, computed on the host
// for any engine. Graph.HostOp puts it into a network; CheckHostOp tests its gradient.
//
// Its methods are functions of their arguments: one value serves graphs of several
// batch sizes, in training and in evaluation. Numbers that are trained are inputs
// that Graph.Param made.
type HostOp interface {
	// Shape returns the shape of the output for inputs of the given shapes, or what
	// is wrong with these.
	Shape(in ...[]int) ([]int, error)
	// Forward overwrites y, which has that shape, with the output for inputs x, which
	// it leaves as they are.
	Forward(y Array, x ...Array) error
	// Backward overwrites each dx[i] with the derivative of a number with respect to
	// x[i], given that with respect to y, the output of Forward. A dx[i] whose V is
	// nil is not wanted.
	Backward(dx []Array, dy, y Array, x ...Array) error
}

// HostOp adds an operation of a program's own. Inputs and output travel between the
// engine and the host in each run, which takes time on a device. A network with one
// cannot be exported: Steps knows no description of it.
func (g *Graph) HostOp(name string, o HostOp, in ...*Node) *Node {
	if g.bad(name, in...) {
		return nil
	}
	if o == nil || len(in) == 0 {
		return g.fail(name, errors.New("want an op and its inputs, neither missing"))
	}
	x := make([]Array, len(in))
	for i, n := range in {
		x[i] = newArray(n.Shape())
	}
	shape, err := o.Shape(shapesOf(x)...)
	if err != nil {
		return g.fail(name, err)
	}
	if len(shape) == 0 || slices.Min(shape) < 1 {
		return g.fail(name, fmt.Errorf("the shape of its output is %v, want one dimension or more, each 1 or more", shape))
	}
	y := newArray(shape)
	h := hostOp{g.eng, o}
	var out *Node
	out = g.as(KindHostOp, nil).apply(name, y.Shape, in, func(to engine.Tensor, from []engine.Tensor) error {
		if err := h.read(x, from); err != nil {
			return err
		}
		if err := o.Forward(y, x...); err != nil {
			return err
		}
		return h.eng.Write(to, y.V)
	}, func(dout *Node) []*Node { return g.hostOpGrad(name, h, out, dout, x, y, in) })
	return out
}

// hostOpGrad adds the gradient of a HostOp with output out.
func (g *Graph) hostOpGrad(name string, h hostOp, out, dout *Node, x []Array, y Array, in []*Node) []*Node {
	shapes := make([][]int, len(in))
	dx := make([]Array, len(in))
	for i, n := range in {
		dx[i].Shape = x[i].Shape
		if shapes[i] = g.wanted(n); shapes[i] != nil {
			dx[i] = newArray(n.Shape())
		}
	}
	dy := newArray(y.Shape)
	args := append([]Array{dy, y}, x...)
	return g.does("host op grad").applyMulti(name+" grad", shapes, append([]*Node{dout, out}, in...), func(to, from []engine.Tensor) error {
		if err := h.read(args, from); err != nil {
			return err
		}
		if err := h.op.Backward(dx, dy, y, x...); err != nil {
			return fmt.Errorf("gradient: %w", err)
		}
		for i, d := range dx {
			if d.V == nil {
				continue
			}
			if err := h.eng.Write(to[i], d.V); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

type hostOp struct {
	eng engine.Engine
	op  HostOp
}

func (h hostOp) read(to []Array, from []engine.Tensor) error {
	for i, t := range from {
		if err := h.eng.Read(to[i].V, t); err != nil {
			return err
		}
	}
	return nil
}

func newArray(shape []int) Array {
	size := 1
	for _, n := range shape {
		size *= n
	}
	return Array{Shape: slices.Clone(shape), V: make([]float32, size)}
}

func shapesOf(x []Array) [][]int {
	shapes := make([][]int, len(x))
	for i, a := range x {
		shapes[i] = slices.Clone(a.Shape)
	}
	return shapes
}
