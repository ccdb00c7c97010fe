package layers

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// op is the one Gorgonia op of this package. What it computes is run; its
// gradient is the nodes that grad adds. It owns its output buffers, so running
// it again allocates nothing.
type op struct {
	g      *Graph
	id     int
	name   string
	node   *Node
	in     []*Node
	shapes []tensor.Shape // of the outputs; the first one is the node's own
	out    []Tensor
	run    func(out, in []Tensor) error
	// grad adds the gradients with respect to each input, given the gradient of
	// the first output; entries for inputs that need none may be nil.
	grad func(dout *Node) []*Node
	// kind and spec describe a forward op, see Step.
	kind Kind
	spec any
	// alias, if not nil, is the op of which this one is another output.
	alias  *op
	output int
	// overwrites lists the inputs over which the op may write; over is the op
	// whose output it does write over, gone says that the op's own output is
	// written over.
	overwrites []int
	over       *op
	gone       bool
}

// apply adds a node with a single output.
func (g *Graph) apply(name string, shape []int, in []*Node, run func(out Tensor, in []Tensor) error, grad func(dout *Node) []*Node) *Node {
	return g.applyMulti(name, [][]int{shape}, in, func(out, in []Tensor) error { return run(out[0], in) }, grad)[0]
}

// applyMulti adds a node with several outputs. Gorgonia knows single outputs
// only, so the further ones are nodes that wait for the first and hand over
// its other buffers. A nil shape means an output that nobody needs: its node
// and its tensor are nil.
func (g *Graph) applyMulti(name string, shapes [][]int, in []*Node, run func(out, in []Tensor) error, grad func(dout *Node) []*Node) []*Node {
	nodes := make([]*Node, len(shapes))
	if g.bad(name, in...) {
		return nodes
	}
	o := &op{g: g, name: name, in: in, run: run, grad: grad, shapes: make([]tensor.Shape, len(shapes)), out: make([]Tensor, len(shapes))}
	first := -1
	for i, s := range shapes {
		if s == nil {
			continue
		}
		o.shapes[i] = tensor.Shape(s)
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		g.fail(name, fmt.Errorf("has no output"))
		return nodes
	}
	o.output = first
	if nodes[first] = g.add(o); nodes[first] == nil {
		return nodes
	}
	for i := first + 1; i < len(shapes); i++ {
		if shapes[i] != nil {
			nodes[i] = g.add(&op{
				g: g, name: fmt.Sprintf("%s[%d]", name, i), in: []*Node{nodes[first]}, shapes: o.shapes, alias: o, output: i,
			})
		}
	}
	return nodes
}

// add puts o into the expression graph.
func (g *Graph) add(o *op) *Node {
	o.id = len(g.ops)
	n, err := gorgonia.ApplyOp(o, o.in...)
	if err != nil {
		return g.fail(o.name, err)
	}
	o.node = n
	g.ops = append(g.ops, o)
	g.byNode[n] = o
	for _, c := range o.in {
		if g.needs[c] {
			g.needs[n] = true
		}
	}
	return n
}

// result returns the buffer of the op's own output.
func (o *op) result() Tensor {
	if o.alias != nil {
		return o.alias.out[o.output]
	}
	return o.out[o.output]
}

// Do runs the op on the engine. A failure is kept in the graph as well:
// Gorgonia wraps it in an error that cannot be unwrapped.
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if err := o.do(in); err != nil {
		o.g.failure = &OpError{o.name, err}
		return nil, o.g.failure
	}
	return o.result(), nil
}

// do turns a panic into an error: it would otherwise end the process, since
// Gorgonia calls from a goroutine of its own.
func (o *op) do(in []Tensor) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if o.alias == nil {
		if err := o.run(o.out, in); err != nil {
			return err
		}
	}
	if !o.g.check {
		return nil
	}
	fine, err := o.g.eng.Finite(o.result())
	if err == nil && !fine {
		err = &NonFiniteError{o.name}
	}
	return err
}

// allocate makes the output buffers; a further output has none of its own.
func (o *op) allocate() error {
	if o.alias != nil {
		return nil
	}
	if o.over != nil { // made earlier: ops are in topological order
		o.out[o.output] = o.over.result()
	}
	for i, s := range o.shapes {
		if s == nil || o.out[i] != nil {
			continue
		}
		t, err := o.g.eng.New(s...)
		if err != nil {
			return err
		}
		o.out[i] = t
	}
	return nil
}

// The rest is Gorgonia's Op and SDOp.

func (o *op) Arity() int { return len(o.in) }

func (o *op) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.in)+1)
	for _, n := range o.in {
		ts = append(ts, n.Type())
	}
	return hm.NewFnType(append(ts, gorgonia.TensorType{Dims: o.shapes[o.output].Dims(), Of: tensor.Float32})...)
}

func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return o.shapes[o.output].Clone(), nil
}

func (o *op) ReturnsPtr() bool     { return false }
func (o *op) CallsExtern() bool    { return false }
func (o *op) OverwritesInput() int { return -1 }

func (o *op) WriteHash(h hash.Hash) { fmt.Fprintf(h, "vernier.%s#%d", o.name, o.id) }

func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *op) String() string { return o.name }

// DiffWRT says which inputs a gradient has to reach.
func (o *op) DiffWRT(n int) []bool {
	d := make([]bool, n)
	for i, c := range o.in {
		d[i] = o.g.needs[c]
	}
	return d
}

// SymDiff adds the op's gradient to the graph.
func (o *op) SymDiff(_ gorgonia.Nodes, _, dout *Node) (gorgonia.Nodes, error) {
	if o.grad == nil {
		return nil, fmt.Errorf("node %q has no gradient", o.name)
	}
	ds := o.grad(dout)
	if o.g.err != nil {
		return nil, o.g.err
	}
	return ds, nil
}
