package layers

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/vernier-ml/vernier/engine"
)

// Node is a value in a Graph.
type Node = gorgonia.Node

// Graph is a Gorgonia expression graph of this package's ops over one Engine.
//
// Building: the methods that add a node never fail on the spot. The first
// mistake (a shape that does not fit, say) is kept and returned by Compile,
// with the name of the node; what follows it adds nothing. So a network reads
// as plain code.
//
// Running: Compile, then for each step fill the inputs with Engine.Write and
// call Run. Compile plans where every op's output lies in one arena, such that
// values share memory if they do not live at the same time, and a step allocates
// no tensors. A Graph is used by one goroutine at a time.
type Graph struct {
	eng    engine.Engine
	params *Params
	g      *gorgonia.ExprGraph
	vm     gorgonia.VM

	ops     []*op // the order of execution
	byNode  map[*Node]*op
	values  map[*Node]engine.Tensor // of inputs and parameters
	used    map[string]*Node        // parameters in this graph by name
	needs   map[*Node]bool          // does a gradient have to reach this node
	derivs  map[*Node]*Node         // gradients of leaves, after Backward
	kept    map[*Node]bool          // values that stay readable after a Run
	masked  map[*Node]*Node         // gradients that are 0 where this output of a ReLU is
	copies  map[*Node]*Node         // of parameters, see operand
	earlier map[*Node]*Node         // gradients that meet others, see accumulate; of the op whose gradient is added
	adds    map[*Node]*Node         // gradients by those that include them
	summed  map[output]*Node        // sums of gradients, see sumsOf
	again   map[*Node]*Node         // forgotten values by node, computed again
	one     *Node                   // the seed of a scalar
	moved   []RunningStatistics     // see there
	flows   []*flow                 // geometry flow layers
	drops   []*dropout              // dropouts, whose masks DrawDropout draws
	group   Group                   // of parameters that are added
	copied  string                  // what their names begin with within Copy
	err     error
	reverse bool // nodes that are added belong to the reverse pass

	arena    engine.Arena // after Compile
	planned  *plan        // likewise
	unfused  bool         // an op for each layer
	limit    int64        // of Bytes, 0 for none
	check    bool         // look for non-finite outputs after every op
	failure  *OpError     // of the latest Run
	record   recorded
	before   func() error    // see BeforeHost; may be nil
	observer engine.Observer // may be nil
}

// NewGraph returns an empty graph over eng. Parameters come from params, which
// several graphs may share.
func NewGraph(eng engine.Engine, params *Params) *Graph {
	g := &Graph{
		eng: eng, params: params, g: gorgonia.NewGraph(),
		byNode: map[*Node]*op{}, values: map[*Node]engine.Tensor{},
		used: map[string]*Node{}, needs: map[*Node]bool{}, derivs: map[*Node]*Node{}, kept: map[*Node]bool{}, masked: map[*Node]*Node{}, copies: map[*Node]*Node{}, adds: map[*Node]*Node{}, summed: map[output]*Node{}, again: map[*Node]*Node{},
	}
	switch {
	case eng == nil:
		g.err = errors.New("layers: the engine of NewGraph is nil: cpu.New makes one")
	case params == nil:
		g.err = errors.New("layers: the parameters of NewGraph are nil: NewParams makes an empty set")
	}
	return g
}

// Engine returns the engine that the graph runs on.
func (g *Graph) Engine() engine.Engine { return g.eng }

// Err returns the first mistake made while building, or nil.
func (g *Graph) Err() error { return g.err }

// Input adds a zeroed input of the given shape. Fill it through
// g.Engine().Write(g.Value(n), ...) before each Run.
func (g *Graph) Input(name string, shape ...int) *Node {
	if g.err != nil {
		return nil
	}
	v, err := g.eng.New(shape...)
	if err != nil {
		return g.fail("input "+name, err)
	}
	return g.leaf(name, v)
}

// Fixed adds an input that holds one value everywhere. It takes no gradient and
// is no parameter: what a specification says needs no place in a file.
func (g *Graph) Fixed(name string, value float32, shape ...int) *Node {
	n := g.Input(name, shape...)
	if n == nil {
		return nil
	}
	host := make([]float32, n.Shape().TotalSize())
	for i := range host {
		host[i] = value
	}
	if err := g.eng.Write(g.Value(n), host); err != nil {
		return g.fail("input "+name, err)
	}
	return n
}

// leaf adds a node that holds a value.
func (g *Graph) leaf(name string, v engine.Tensor) *Node {
	s := tensor.Shape(v.Shape()).Clone()
	// Gorgonia merges inputs of the same name; the number keeps them apart.
	unique := fmt.Sprintf("%s#%d", name, len(g.values))
	n := gorgonia.NewTensor(g.g, tensor.Float32, s.Dims(), gorgonia.WithShape(s...), gorgonia.WithName(unique), gorgonia.WithValue(&value{v}))
	g.values[n] = v
	return n
}

// Value returns the tensor behind a node: an input's or parameter's own, or the
// buffer that the op behind n writes in Run. It is nil before Compile, and for
// a value whose memory goes to another once it has been read; see Keep.
func (g *Graph) Value(n *Node) engine.Tensor {
	if v, ok := g.values[n]; ok {
		return v
	}
	if out, ok := g.outputOf(n); ok && g.planned != nil && g.planned.readable[out] {
		return out.op.out[out.i]
	}
	return nil
}

// fail keeps the first mistake.
func (g *Graph) fail(what string, err error) *Node {
	if g.err == nil {
		g.err = fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Fail keeps a mistake that the builder of a network found, unless there is an
// earlier one.
func (g *Graph) Fail(what string, err error) { g.fail(what, err) }

// bad reports whether building has failed, also noticing a nil input.
func (g *Graph) bad(what string, in ...*Node) bool {
	if g.err != nil {
		return true
	}
	for i, n := range in {
		if n == nil {
			g.fail(what, fmt.Errorf("input %d is missing", i))
			return true
		}
	}
	return false
}

// Compile checks the graph, plans and makes its buffers and prepares it to run.
func (g *Graph) Compile() error {
	if g.err != nil {
		return g.err
	}
	if err := g.checkHashes(); err != nil {
		return err
	}
	p, err := g.plan()
	if err != nil {
		return err
	}
	if need := p.usage.Arena; g.limit > 0 && need > g.limit {
		return &MemoryError{Need: need, Limit: g.limit}
	}
	if err := g.allocate(p); err != nil {
		return err
	}
	g.planned = p
	g.vm = gorgonia.NewTapeMachine(g.g)
	return nil
}

// SetLimit makes Compile fail, before it makes anything, if the ops' buffers
// would take more than bytes bytes.
func (g *Graph) SetLimit(bytes int64) { g.limit = bytes }

// MemoryError says that a graph does not fit.
type MemoryError struct{ Need, Limit int64 } // bytes

func (e *MemoryError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("activations and gradients need %d MiB, %d MiB are available", e.Need/mib, e.Limit/mib)
}

// checkHashes makes sure that Gorgonia's common subexpression elimination,
// which trusts a 32-bit hash, cannot merge two nodes.
func (g *Graph) checkHashes() error {
	seen := make(map[uint32]*Node, len(g.ops)+len(g.values))
	for _, n := range g.g.AllNodes() {
		h := n.Hashcode()
		if other, ok := seen[h]; ok {
			return fmt.Errorf("nodes %q and %q have the same hash code %#x and would be merged", g.nameOf(other), g.nameOf(n), h)
		}
		seen[h] = n
	}
	return nil
}

func (g *Graph) nameOf(n *Node) string {
	if o := g.byNode[n]; o != nil {
		return o.name
	}
	return n.Name()
}

// Run executes every node once.
func (g *Graph) Run() error {
	if g.vm == nil {
		return errors.New("layers: the graph has not been compiled")
	}
	if rec, ok := g.eng.(engine.Recorder); ok && !g.check && g.observer == nil {
		return g.runRecorded(rec)
	}
	return g.runTape()
}

// runTape runs the graph on the tape machine.
func (g *Graph) runTape() error {
	defer g.vm.Reset()
	g.failure = nil
	err := g.vm.RunAll()
	if g.failure != nil {
		return g.failure // Gorgonia's wrapping tells of registers, not of the network
	}
	return err
}

// RunChecked is Run, but stops at the first node with a non-finite output and
// returns a *NonFiniteError that names it. Inputs and parameters are looked at first.
func (g *Graph) RunChecked() error {
	for _, n := range g.g.AllNodes() {
		v, ok := g.values[n]
		if !ok {
			continue
		}
		if fine, err := g.eng.Finite(v); err != nil {
			return err
		} else if !fine {
			return &NonFiniteError{Node: n.Name()}
		}
	}
	g.check = true
	defer func() { g.check = false }()
	err := g.Run()
	var nf *NonFiniteError
	if errors.As(err, &nf) {
		return nf
	}
	return err
}

// Close releases the tape machine and the memory of the ops' outputs. Values of
// ops, gradients among them, must not be used after it.
func (g *Graph) Close() error {
	if g.vm == nil {
		return nil
	}
	err := errors.Join(g.forget(), g.closeBundles(), g.vm.Close(), g.arena.Close())
	for _, o := range g.ops {
		clear(o.out)
		clear(o.args)
		o.held = nil
	}
	g.vm, g.arena, g.planned = nil, nil, nil
	return err
}

// OpError is a failure of one node while a graph runs.
type OpError struct {
	Node string
	Err  error
}

func (e *OpError) Error() string { return fmt.Sprintf("node %q: %v", e.Node, e.Err) }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// NonFiniteError says at which node NaN or infinity first appeared.
type NonFiniteError struct{ Node string }

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("node %q holds NaN or infinity", e.Node)
}
