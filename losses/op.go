package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// ParamPrefix begins the name of every parameter that belongs to a loss.
const ParamPrefix = "loss."

// ClassRowsParam is the parameter that losses over Classes compare with.
const ClassRowsParam = ParamPrefix + "proxies"

// OpOptions say how a loss stands in a graph.
type OpOptions struct {
	Metric  layers.Metric
	Classes int // number of training classes
	Seed    uint64
	// Normalize adds to class rows what the model does to embeddings before
	// the metric; nil leaves them as they are.
	Normalize func(rows *layers.Node) *layers.Node
}

// Node is a loss in a graph.
type Node struct {
	// Loss is the graph's scalar, of shape (1).
	Loss *layers.Node
	// Result is what the loss said in the latest Run, without terms on class
	// rows alone.
	Result Result

	matrix Matrix
}

// SetLabels gives the labels of the batch, 0..C-1, before a Run.
func (n *Node) SetLabels(labels []int) error {
	if len(labels) != n.matrix.Rows {
		return fmt.Errorf("losses: %d labels for a batch of %d", len(labels), n.matrix.Rows)
	}
	copy(n.matrix.RowLabels, labels)
	if n.matrix.SelfColumns {
		copy(n.matrix.ColLabels, labels)
	}
	return nil
}

// Op puts a loss into g on the embeddings e (B, h), with everything that it
// owns: class rows, learnt numbers and statistics become parameters of the
// graph, whose names begin with ParamPrefix.
func Op(g *layers.Graph, loss Loss, e *layers.Node, o OpOptions) (*Node, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	rows := e.Shape()[0]
	n := &Node{matrix: Matrix{Rows: rows, Similarity: o.Metric.Similarity(), RowLabels: make([]int, rows)}}
	columns := e
	if loss.Columns() == Classes {
		var err error
		if columns, n.matrix.ColLabels, err = classRows(g, loss, e.Shape()[1], o); err != nil {
			return nil, err
		}
	} else {
		n.matrix.SelfColumns = true
		n.matrix.ColLabels = make([]int, rows)
	}
	n.matrix.Cols = len(n.matrix.ColLabels)
	n.Loss = evaluate(g, "loss", loss, g.Pairwise("loss "+o.Metric.String(), e, columns, o.Metric), &n.matrix, &n.Result)
	if term := ClassTerm(loss); term != nil {
		m := &Matrix{
			Rows: n.matrix.Cols, Cols: n.matrix.Cols, Similarity: n.matrix.Similarity, SelfColumns: true,
			RowLabels: n.matrix.ColLabels, ColLabels: n.matrix.ColLabels,
		}
		d := g.Pairwise("class rows "+o.Metric.String(), columns, columns, o.Metric)
		n.Loss = g.Add(n.Loss, evaluate(g, "class rows", term, d, m, new(Result)))
	}
	return n, g.Err()
}

// classRows adds the rows that a loss compares a batch with, learnt or fixed,
// and says which class each belongs to.
func classRows(g *layers.Graph, loss Loss, dim int, o OpOptions) (*layers.Node, []int, error) {
	if o.Classes < 1 {
		return nil, nil, fmt.Errorf("losses: %d classes", o.Classes)
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
	columns := g.Param(ClassRowsParam, role, init, o.Classes*per, dim)
	if o.Normalize != nil && columns != nil {
		columns = o.Normalize(columns)
	}
	labels := make([]int, o.Classes*per)
	for i := range labels {
		labels[i] = i / per
	}
	return columns, labels, g.Err()
}

// evaluate adds the op that calls loss on the matrix d.
func evaluate(g *layers.Graph, name string, loss Loss, d *layers.Node, m *Matrix, r *Result) *layers.Node {
	if g.Err() != nil {
		return nil
	}
	in := []*layers.Node{d}
	params := Parameters(loss)
	for _, p := range params {
		role := layers.Bias
		if p.Grad == nil {
			role = layers.Buffer
		}
		in = append(in, g.Param(ParamPrefix+p.Name, role, layers.Values(float32s(p.Value)), p.Shape...))
	}
	return g.HostLoss(name, func(values, grads [][]float64) (float64, error) {
		if !finite(values[0]) {
			// The graph then looks for the node that made it.
			clear(grads[0])
			return math.NaN(), nil
		}
		m.V = values[0]
		for i, p := range params {
			copy(p.Value, values[1+i])
		}
		var err error
		if *r, err = loss.Eval(m, grads[0]); err != nil {
			return 0, err
		}
		for i, p := range params {
			if grads[1+i] != nil {
				copy(grads[1+i], p.Grad)
			} else if err := g.Engine().Write(g.Value(in[1+i]), float32s(p.Value)); err != nil {
				return 0, err
			}
		}
		return r.Value, nil
	}, in...)
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
