package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// Node is a loss in a graph.
type Node struct {
	// Loss is the graph's scalar, of shape (1).
	Loss *layers.Node
	// Result is what the loss said in the latest Run.
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

// Op puts loss into g, on the embeddings e (B, h) compared by m. For a loss
// over Classes columns is the node of proxies (one or more rows a class) and
// classes the label of each of its rows; otherwise both are nil.
func Op(g *layers.Graph, name string, loss Loss, m layers.Metric, e, columns *layers.Node, classes []int) (*Node, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if (loss.Columns() == Classes) != (columns != nil) {
		return nil, fmt.Errorf("%s: proxies are given exactly when the loss compares with classes", name)
	}
	rows := e.Shape()[0]
	n := &Node{matrix: Matrix{Rows: rows, Similarity: m.Similarity(), RowLabels: make([]int, rows)}}
	if columns == nil {
		columns = e
		n.matrix.SelfColumns = true
		n.matrix.ColLabels = make([]int, rows)
	} else {
		if len(classes) != columns.Shape()[0] {
			return nil, fmt.Errorf("%s: %d labels for %d proxies", name, len(classes), columns.Shape()[0])
		}
		n.matrix.ColLabels = classes
	}
	n.matrix.Cols = columns.Shape()[0]
	d := g.Pairwise(name+" "+m.String(), e, columns, m)
	n.Loss = g.HostLoss(name, d, func(values, grad []float64) (float64, error) {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				// Say it with a NaN: the graph then looks for the node that made it.
				for j := range grad {
					grad[j] = 0
				}
				return math.NaN(), nil
			}
		}
		n.matrix.V = values
		r, err := loss.Eval(&n.matrix, grad)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		n.Result = r
		return r.Value, nil
	})
	if err := g.Err(); err != nil {
		return nil, err
	}
	return n, nil
}
