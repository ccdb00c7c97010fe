package losses

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// hostClasses is the most class rows whose matrix with a batch travels to the host,
// where its loss is evaluated in float64 like any other.
const hostClasses = 1000

// engineLabels are the labels of a batch for a loss that the engine evaluates.
type engineLabels struct {
	node   *layers.Node // (B)
	loss   engineLoss
	result *Result
	matrix *Matrix
}

// OnEngine says whether the engine evaluates the loss and all of its terms: neither
// values nor gradients of a matrix come to the host. Where the loss is not finite then,
// its gradient is not either.
func (n *Node) OnEngine() bool { return !n.onHost }

// byEngine adds the op by which the engine evaluates a loss on the matrix d, if it
// can and the matrix is large enough to be worth it.
func (n *Node) byEngine(g *layers.Graph, h hosted, d *layers.Node, o OpOptions) (out *layers.Node, done bool) {
	most := o.HostClasses
	if most == 0 {
		most = hostClasses
	}
	e, ok := g.Engine().(engine.ClassLosses)
	if !ok || g.Err() != nil || h.loss.Columns() != Classes || h.matrix.Cols <= most || h.matrix.Cols > engine.MaxClasses {
		return nil, false
	}
	l, eval := engineForm(h.loss, o.Metric.Similarity())
	if l == nil {
		return nil, false
	}
	labels := g.Input(h.name+" labels", h.matrix.Rows)
	n.onEngine = append(n.onEngine, engineLabels{labels, l, h.result, h.matrix})
	return g.ClassLoss(h.name, d, labels, func(loss, dd, d, labels engine.Tensor) error {
		if err := eval(e, loss, dd, d, labels); err != nil || h.weight == 1 {
			return err
		}
		if dd != nil {
			if err := g.Engine().Scale(dd, dd, float32(h.weight)); err != nil {
				return err
			}
		}
		return g.Engine().Scale(loss, loss, float32(h.weight))
	}), true
}

func (l engineLabels) set(g *layers.Graph, labels []int) error {
	host := make([]float32, len(labels))
	for i, label := range labels {
		if label < 0 || label >= l.matrix.Cols {
			return fmt.Errorf("losses: row %d has label %d, but the columns stand for the %d classes 0..%d", i, label, l.matrix.Cols, l.matrix.Cols-1)
		}
		host[i] = float32(label)
	}
	terms := l.loss.terms(labels, l.matrix.Cols)
	*l.result = Result{Active: terms, Total: terms}
	return g.Engine().Write(g.Value(l.node), host)
}
