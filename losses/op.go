package losses

import (
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// ParamPrefix begins the name of every parameter that belongs to a loss.
const ParamPrefix = "loss."

// ClassRowsParam is the parameter that losses over Classes compare with.
const ClassRowsParam = ParamPrefix + "proxies"

// OpOptions say how a loss stands in a graph.
type OpOptions struct {
	Metric  metric.Metric
	Classes int // number of training classes
	Seed    uint64
	// Normalize adds to class rows what the model does to embeddings before
	// the metric; nil leaves them as they are.
	Normalize func(rows *layers.Node) *layers.Node
	// Memory is what a loss on pairs compares a batch with besides itself.
	Memory MemoryOptions
	// Keys (B, h), if not nil, are what another network makes of the batch. A loss on pairs
	// compares the embeddings with them instead of with each other, and its memory keeps
	// them. They take no gradient.
	Keys *layers.Node
	// Terms are added to the loss.
	Terms []Term
	// Raw holds the embeddings (B, h) before normalization, for terms on rows and for
	// losses with layers of their own; Weights are those of the model's last layer, for
	// terms on weights. Either may be nil where no term asks for it.
	Raw, Weights *layers.Node
	// Features (B, C) are what the model's head is given, for terms that look at them
	// (Term.OnFeatures); nil where none does.
	Features *layers.Node
	// LogScale holds the logarithms of the scale of embeddings, (1) or (h), where that
	// changes while a model is trained; nil where it is fixed. The loss, made for scale 1,
	// then sees values of the metric in proportion to the one between unrelated
	// embeddings: what it says of them, margins first of all, follows the scale, and so
	// do gradients. The metric is a BRM.
	LogScale *layers.Node
	// Parts say how losses that are sums over rows are evaluated.
	Parts Parts
	// Levels, if not nil, are those of the model, for losses that compare by them.
	Levels *Levels
	// HostClasses is the most class rows of a loss that the host evaluates where the
	// engine could (layers.ClassLosses); 0 means 1,000.
	HostClasses int
}

// check says which field means nothing, or that there is no loss.
func (o OpOptions) check(loss Loss) error {
	if err := o.Metric.Validate(); err != nil {
		return fmt.Errorf("losses: %w", badMetric("OpOptions.Metric", o.Metric, err))
	}
	switch {
	case loss == nil:
		return fmt.Errorf("losses: the loss of Op is nil")
	case o.Memory.Size < 0 || o.Memory.Start < 0:
		return fmt.Errorf("losses: OpOptions.Memory has size %d and start %d, want 0 or more", o.Memory.Size, o.Memory.Start)
	case o.LogScale != nil && o.Metric.Kind != metric.BRM:
		return fmt.Errorf("losses: OpOptions.LogScale is of metric brm, not of %v", o.Metric)
	case o.HostClasses < 0:
		return fmt.Errorf("losses: OpOptions.HostClasses is %d, want 0 or more", o.HostClasses)
	}
	for _, t := range o.Terms {
		if err := t.check(); err != nil {
			return err
		}
		if t.Loss != nil {
			if err := checkLoss(t.Loss, o.Metric.Similarity()); err != nil {
				return fmt.Errorf("losses: term %s: %w", t.Name, err)
			}
		}
	}
	return checkLoss(loss, o.Metric.Similarity())
}

// Node is a loss in a graph.
type Node struct {
	// Loss is the graph's scalar, of shape (1): the loss with its terms.
	Loss *layers.Node
	// Result is what the loss said in the latest Run, without terms. Where the engine
	// evaluates the loss, its Value is 0 and its counts are those of the labels. Of a Layered
	// loss it is that of the first matrix.
	Result Result

	g         *layers.Graph
	matrix    Matrix       // of the batch, or of batch and class rows
	pairs     Matrix       // of the batch with itself, for terms
	classRows *layers.Node // of the loss, as the metric compares them; nil for none
	memory    *memory
	onEngine  []engineLabels
	itemized  []Itemized // losses that want to know the items
	onHost    bool       // a loss or a term is evaluated there
}

// SetLabels gives the labels of the batch, 0..C-1, before a Run.
func (n *Node) SetLabels(labels []int) error {
	if len(labels) != n.matrix.Rows {
		return fmt.Errorf("losses: %d labels for a batch of %d", len(labels), n.matrix.Rows)
	}
	copy(n.matrix.RowLabels, labels)
	for _, l := range n.onEngine {
		if err := l.set(n.g, labels); err != nil {
			return err
		}
	}
	return nil
}

// Itemized is a loss that has to know which items of the training set a batch holds, beside
// their labels.
type Itemized interface {
	// SetItems says which items the rows of the next matrix are. items is not kept.
	SetItems(items []int) error
}

// Op puts a loss into g on the embeddings e (B, h), with everything that it
// owns: class rows, learned numbers, statistics and the memory become parameters
// of the graph, whose names begin with ParamPrefix.
func Op(g *layers.Graph, loss Loss, e *layers.Node, o OpOptions) (*Node, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := o.check(loss); err != nil {
		return nil, err
	}
	defer g.In(layers.Loss)()
	rows := e.Shape()[0]
	labels := make([]int, rows)
	n := &Node{g: g, pairs: Matrix{
		Rows: rows, Cols: rows, RowLabels: labels, ColLabels: labels, Similarity: o.Metric.Similarity(), SelfColumns: true,
	}}
	if o.Keys != nil && loss.Columns() != Batch {
		return nil, fmt.Errorf("losses: OpOptions.Keys are for losses on pairs; this one compares rows with classes")
	}
	main := hosted{name: "loss", prefix: ParamPrefix, loss: loss, weight: 1, matrix: &n.matrix, result: &n.Result}
	if o.Memory.Size > 0 {
		if loss.Columns() == Classes {
			return nil, fmt.Errorf("losses: a memory of earlier batches is for losses on pairs; this one compares rows with classes")
		}
		var err error
		if n.memory, err = newMemory(g, e, keysOr(o, e), o); err != nil {
			return nil, err
		}
		main.memory = n.memory
	}
	var err error
	if n.Loss, err = n.add(g, main, ClassRowsParam, e, o); err != nil {
		return nil, err
	}
	o.Keys = nil // terms compare embeddings with each other
	for i, t := range o.Terms {
		if slices.ContainsFunc(o.Terms[:i], func(other Term) bool { return other.Name == t.Name }) {
			return nil, fmt.Errorf("losses: term %s is given twice", t.Name)
		}
		term, err := n.term(g, t, e, o)
		if err != nil {
			return nil, err
		}
		n.Loss = g.Add(n.Loss, term)
	}
	return n, g.Err()
}

// add puts one loss into the graph, with its class rows and the term on these.
func (n *Node) add(g *layers.Graph, h hosted, rowsParam string, e *layers.Node, o OpOptions) (*layers.Node, error) {
	if l, ok := h.loss.(Layered); ok {
		return n.layered(g, h, l, e, o)
	}
	if l, ok := h.loss.(Itemized); ok {
		n.itemized = append(n.itemized, l)
	}
	*h.matrix = n.pairs
	columns := keysOr(o, e)
	if h.loss.Columns() == Classes {
		h.matrix.SelfColumns = false
		var err error
		if columns, h.matrix.ColLabels, err = classRows(g, h.loss, rowsParam, e.Shape()[1], o); err != nil {
			return nil, err
		}
		h.matrix.Cols = len(h.matrix.ColLabels)
		if h.matrix == &n.matrix {
			n.classRows = columns
		}
	}
	if o.inParts(h, e.Shape()[0]) {
		return n.byRows(g, h, e, o), g.Err()
	}
	d := g.Pairwise(h.name+" "+o.Metric.String(), e, columns, o.Metric)
	out, done := n.byEngine(g, h, d, o)
	if !done {
		out = n.evaluate(g, h, d, o)
	}
	if term := ClassTerm(h.loss); term != nil {
		c := hosted{name: h.name + " class rows", prefix: h.prefix, loss: term, weight: h.weight, result: new(Result), matrix: &Matrix{
			Rows: h.matrix.Cols, Cols: PerClass(h.loss), Similarity: h.matrix.Similarity, RowLabels: h.matrix.ColLabels,
		}}
		within := g.PairwiseGroups(c.name+" "+o.Metric.String(), columns, c.matrix.Cols, o.Metric)
		out = g.Add(out, n.evaluate(g, c, within, o))
	}
	return out, g.Err()
}

// keysOr returns what a loss on pairs compares embeddings with.
func keysOr(o OpOptions, e *layers.Node) *layers.Node {
	if o.Keys != nil {
		return o.Keys
	}
	return e
}

// classRows adds the rows that a loss compares a batch with, learned or fixed,
// and says which class each belongs to.
func classRows(g *layers.Graph, loss Loss, name string, dim int, o OpOptions) (*layers.Node, []int, error) {
	if o.Classes < 1 || o.Classes > maxClasses {
		return nil, nil, fmt.Errorf("losses: OpOptions.Classes is %d, want the number of training classes", o.Classes)
	}
	per := PerClass(loss)
	fixed, err := FixedClasses(loss, o.Classes, dim, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	role, init := layers.Proxy, layers.HeNormal(dim)
	if fixed != nil {
		role, init = layers.Buffer, layers.Values(float32s(fixed))
	}
	columns := g.Param(name, role, init, o.Classes*per, dim)
	if o.Normalize != nil && columns != nil {
		columns = o.Normalize(columns)
	}
	labels := make([]int, o.Classes*per)
	for i := range labels {
		labels[i] = i / per
	}
	return columns, labels, g.Err()
}

// hosted is a loss as it is evaluated on the host.
type hosted struct {
	name, prefix string
	loss         Loss
	weight       float64
	matrix       *Matrix
	result       *Result
	memory       *memory // nil for none
}

// evaluate adds the op that calls the loss on the matrix d.
func (n *Node) evaluate(g *layers.Graph, h hosted, d *layers.Node, o OpOptions) *layers.Node {
	if g.Err() != nil {
		return nil
	}
	in := []*layers.Node{d}
	if h.memory != nil {
		in = append(in, h.memory.nodes()...)
	}
	own := newOwned(g, h.prefix, Parameters(h.loss), len(in))
	in = append(in, own.nodes...)
	scaled := newFollower(o, len(in), h.memory != nil)
	n.onHost = true
	return g.HostLoss(h.name, func(values, grads [][]float64) (float64, error) {
		if !finite(values[0]) {
			// The graph then looks for the node that made it.
			clear(grads[0])
			return math.NaN(), nil
		}
		own.before(values)
		scaled.before(values)
		m, grad := h.matrix, grads[0]
		m.V = values[0]
		if h.memory != nil {
			m, grad = h.memory.join(m, values)
		}
		var err error
		if *h.result, err = h.loss.Eval(m, grad); err != nil {
			return 0, err
		}
		if h.memory != nil {
			h.memory.split(grad, grads)
		}
		scale(grads[0], h.weight)
		scaled.after(values, grads)
		if err := own.after(g, grads, h.weight); err != nil {
			return 0, err
		}
		return h.weight * h.result.Value, nil
	}, scaled.inputs(in)...)
}

// owned are the parameters of a loss or a term as inputs of its op.
type owned struct {
	params []Param
	nodes  []*layers.Node
	from   int // index of the first among the op's inputs
}

func newOwned(g *layers.Graph, prefix string, params []Param, from int) owned {
	own := owned{params: params, from: from}
	for _, p := range params {
		role := layers.Bias
		if p.Grad == nil {
			role = layers.Buffer
		}
		own.nodes = append(own.nodes, g.Param(prefix+p.Name, role, layers.Values(float32s(p.Value)), p.Shape...))
	}
	return own
}

// before gives the loss the values that the graph holds.
func (o owned) before(values [][]float64) {
	for i, p := range o.params {
		copy(p.Value, values[o.from+i])
	}
}

// after hands gradients over and stores statistics.
func (o owned) after(g *layers.Graph, grads [][]float64, weight float64) error {
	for i, p := range o.params {
		if to := grads[o.from+i]; to != nil {
			copy(to, p.Grad)
			scale(to, weight)
		} else if p.Grad == nil {
			if err := g.Engine().Write(g.Value(o.nodes[i]), float32s(p.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func scale(x []float64, s float64) {
	if s == 1 {
		return
	}
	for i := range x {
		x[i] *= s
	}
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
