package layers

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/vernier-ml/vernier/engine"
)

// op is the one Gorgonia op of this package. What it computes is run; its
// gradient is the nodes that grad adds. Its output buffers are made once, so
// running it again allocates nothing.
//
// Besides its inputs it waits for the op that was added before it. So the tape
// machine, which may choose among topological orders, has one: that of building.
// The plan of the memory relies on it, and a good order is easy to see in the
// code that builds.
type op struct {
	g      *Graph
	id     int
	name   string
	node   *Node
	in     []*Node
	before *Node          // the op added before this one, unless it is an input
	shapes []tensor.Shape // of the outputs; the first one is the node's own
	out    []engine.Tensor
	held   gorgonia.Value  // the op's own output as Gorgonia passes it on; made by Compile
	args   []engine.Tensor // of the latest Do
	run    func(out, in []engine.Tensor) error
	// grad adds the gradients with respect to each input, given the gradient of
	// the first output; entries for inputs that need none may be nil.
	grad func(dout *Node) []*Node
	description
	work *engine.Work // what an Observer is notified of; nil without one
	// alias, if not nil, is the op of which this one is another output.
	alias  *op
	output int
	// rectified says that the output is that of a ReLU.
	rectified bool
	// overwrites lists the inputs over which the op may write its output.
	overwrites []int
	bundle     *bundle // after Compile; nil for most
	// forgotten says that the reverse pass computes the outputs again, see Recompute.
	forgotten bool
}

// inputs collects those of an op, some of which may be missing.
type inputs []*Node

// add appends nodes, leaves out those that are nil, and returns the index of the
// last, or -1 if that is nil.
func (in *inputs) add(nodes ...*Node) (at int) {
	for _, n := range nodes {
		at = -1
		if n != nil {
			at = len(*in)
			*in = append(*in, n)
		}
	}
	return at
}

// optional returns in[i], or nil for a negative i.
func optional(in []engine.Tensor, i int) engine.Tensor {
	if i < 0 {
		return nil
	}
	return in[i]
}

// applyMulti adds a node with several outputs. Gorgonia knows single outputs
// only, so the further ones are nodes that wait for the first and hand over
// its other buffers. A nil shape means an output that nobody needs: its node
// and its tensor are nil.
func (d describer) applyMulti(name string, shapes [][]int, in []*Node, run func(out, in []engine.Tensor) error, grad func(dout *Node) []*Node) []*Node {
	g, nodes := d.g, make([]*Node, len(shapes))
	if g.bad(name, in...) {
		return nodes
	}
	if g.reverse {
		in = g.recomputed(in)
	}
	o := &op{g: g, description: d.description, name: name, in: in, run: run, grad: grad, shapes: make([]tensor.Shape, len(shapes)), out: make([]engine.Tensor, len(shapes))}
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
			nodes[i] = g.add(o.further(fmt.Sprintf("%s[%d]", name, i), i))
		}
	}
	return nodes
}

// further returns the op that hands over another output of o.
func (o *op) further(name string, output int) *op {
	return &op{g: o.g, name: name, in: []*Node{o.node}, shapes: o.shapes, alias: o, output: output}
}

// add puts o into the expression graph.
func (g *Graph) add(o *op) *Node {
	o.id = len(g.ops)
	if o.id > 0 {
		if before := g.ops[o.id-1].node; !slices.Contains(o.in, before) {
			o.before = before
		}
	}
	n, err := gorgonia.ApplyOp(o, o.children()...)
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

// children are what the op waits for: its inputs, then the op before it.
func (o *op) children() []*Node {
	if o.before == nil {
		return o.in
	}
	return append(slices.Clip(o.in), o.before)
}

// result returns the buffer of the op's own output.
func (o *op) result() engine.Tensor {
	if o.alias != nil {
		return o.alias.out[o.output]
	}
	return o.out[o.output]
}

// Do runs the op on the engine. A failure is kept in the graph as well:
// Gorgonia wraps it in an error that cannot be unwrapped.
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	for i := range o.args {
		o.args[i] = in[i].(*value).Tensor
	}
	if err := o.do(o.args); err != nil {
		o.g.failure = &OpError{o.name, err}
		return nil, o.g.failure
	}
	return o.held, nil
}

// do turns a panic into an error: it would otherwise end the process, since
// Gorgonia calls from a goroutine of its own.
func (o *op) do(in []engine.Tensor) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if o.alias == nil {
		if err := o.watch(in); err != nil {
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

// The rest is Gorgonia's Op and SDOp.

func (o *op) Arity() int { return len(o.children()) }

func (o *op) Type() hm.Type {
	children := o.children()
	ts := make([]hm.Type, 0, len(children)+1)
	for _, n := range children {
		ts = append(ts, n.Type())
	}
	return hm.NewFnType(append(ts, typeOf(o.shapes[o.output]))...)
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
