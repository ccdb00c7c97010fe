package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// termPrefix begins the name of every parameter that belongs to a term.
const termPrefix = ParamPrefix + "terms."

// TermRowsParam is the parameter that a term over Classes compares with.
func TermRowsParam(name string) string { return termPrefix + name + ".proxies" }

// term adds one term to the graph.
func (n *Node) term(g *layers.Graph, t Term, e *layers.Node, o OpOptions) (*layers.Node, error) {
	name, prefix := "term "+t.Name, termPrefix+t.Name+"."
	if t.Rows == nil {
		h := hosted{name: name, prefix: prefix, loss: t.Loss, weight: t.Weight, matrix: new(Matrix), result: new(Result)}
		return n.add(g, h, TermRowsParam(t.Name), e, o)
	}
	x, what := o.Raw, "the embeddings before normalisation"
	if t.OnWeights() {
		x, what = o.Weights, "the weights of a linear layer at the model's end, which this model does not have"
	}
	if x == nil {
		return nil, fmt.Errorf("losses: term %s is on %s", t.Name, what)
	}
	rows, dim := x.Shape()[0], x.Shape()[1]
	own := newOwned(g, prefix, Parameters(t.Rows), 1)
	n.onHost = true
	return g.HostLoss(name, func(values, grads [][]float64) (float64, error) {
		grad := grads[0]
		if grad == nil { // a frozen layer
			grad = make([]float64, len(values[0]))
		}
		if !finite(values[0]) {
			clear(grad)
			return math.NaN(), nil
		}
		own.before(values)
		value, err := t.Rows.EvalRows(values[0], rows, dim, grad)
		if err != nil {
			return 0, err
		}
		return value, own.after(g, grads, 1)
	}, append([]*layers.Node{x}, own.nodes...)...), g.Err()
}
