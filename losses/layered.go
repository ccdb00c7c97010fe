package losses

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Layered is a loss with layers of its own between the embeddings of a batch and the matrices
// that it is computed from. The layers belong to training (layers.Training): no model has
// them. Op builds them; Eval of such a loss is ErrLayered, and the metric of the model has
// no part in it.
type Layered interface {
	Loss
	// Build adds the layers and returns the matrices that they end in. The loss is the sum of
	// what is computed from each. Mistakes are the graph's (layers.Graph.Fail).
	Build(g *layers.Graph, in LayerInput) []LayerMatrix
}

// LayerInput is what the layers of a loss begin with.
type LayerInput struct {
	// Raw are embeddings (B, h) as the head makes them, X those that the metric compares.
	Raw, X  *layers.Node
	Classes int     // number of training classes
	Prefix  string  // begins the names of parameters
	Levels  *Levels // of the model; nil for one without
}

// Levels are those of a model whose rows (B, 2 N h) hold the embedding of each level, of length
// 1, from the lowest on, and then the certainty of each: see package layers/links.
type Levels struct {
	N, Keep int
	Gamma   float64
	// Links are the tables (h, h) between each level and the next, A and B the learned
	// vectors (h) of each level but the first.
	Links, A, B []*layers.Node
}

// LayerMatrix is a matrix that layers end in, and the loss of it.
type LayerMatrix struct {
	Name   string
	Values *layers.Node // (B, B) or (B, Classes), as Loss.Columns says
	// Similarity says that larger values are of rows that are more alike.
	Similarity bool
	Loss       Loss
	Weight     float64 // of the loss in the sum; 0 stands for 1
}

// ErrLayered says that a loss is more than a function of a matrix.
var ErrLayered = errors.New("the loss has layers of its own, which Op adds to a graph: it is not computed from a matrix of metric values")

// layered puts a loss with layers of its own into the graph.
func (n *Node) layered(g *layers.Graph, h hosted, l Layered, e *layers.Node, o OpOptions) (*layers.Node, error) {
	if o.LogScale != nil {
		return nil, fmt.Errorf("losses: %s: its layers do not see the metric, and so cannot follow a scale of embeddings that changes: want a fixed one", h.name)
	}
	if h.memory != nil {
		return nil, fmt.Errorf("losses: %s: a memory of earlier batches holds embeddings, which its layers cannot join with those of a batch", h.name)
	}
	in := LayerInput{Raw: o.Raw, X: e, Classes: o.Classes, Prefix: h.prefix, Levels: o.Levels}
	if in.Raw == nil {
		in.Raw = e
	}
	matrices := l.Build(g, in)
	if err := g.Err(); err != nil {
		return nil, err
	}
	if len(matrices) == 0 {
		return nil, fmt.Errorf("losses: %s: its layers end in no matrix", h.name)
	}
	var total *layers.Node
	for i, m := range matrices {
		part := hosted{name: h.name + " " + m.Name, prefix: h.prefix + m.Name + ".", loss: m.Loss, weight: h.weight, matrix: new(Matrix), result: new(Result)}
		if m.Weight != 0 {
			part.weight *= m.Weight
		}
		if i == 0 { // what is logged
			part.matrix, part.result = h.matrix, h.result
		}
		value, err := n.ofLayers(g, part, m, o)
		if err != nil {
			return nil, err
		}
		if total == nil {
			total = value
		} else {
			total = g.Add(total, value)
		}
	}
	return total, g.Err()
}

// ofLayers adds the loss of one matrix.
func (n *Node) ofLayers(g *layers.Graph, h hosted, m LayerMatrix, o OpOptions) (*layers.Node, error) {
	want := []int{n.pairs.Rows, n.pairs.Rows}
	*h.matrix = n.pairs
	h.matrix.Similarity = m.Similarity
	o.Metric = metric.Metric{Kind: metric.SquaredEuclidean} // for the direction alone
	if m.Similarity {
		o.Metric.Kind = metric.Dot
	}
	if m.Loss.Columns() == Classes {
		want[1] = o.Classes
		h.matrix.SelfColumns, h.matrix.Cols = false, o.Classes
		h.matrix.ColLabels = make([]int, o.Classes)
		for c := range h.matrix.ColLabels {
			h.matrix.ColLabels[c] = c
		}
	}
	if s := m.Values.Shape(); len(s) != 2 || s[0] != want[0] || s[1] != want[1] {
		return nil, fmt.Errorf("losses: %s: its layers give %v, want %v", h.name, s, want)
	}
	if err := checkLoss(m.Loss, m.Similarity); err != nil {
		return nil, err
	}
	if out, done := n.byEngine(g, h, m.Values, o); done {
		return out, g.Err()
	}
	return n.evaluate(g, h, m.Values, o), g.Err()
}
