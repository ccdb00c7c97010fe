package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// OnEngine says whether the engine evaluates the loss and all of its terms: neither
// values nor gradients of a matrix come to the host. Where the loss is not finite then,
// its gradient is not either.
func (n *Node) OnEngine() bool { return !n.onHost }

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

// engineLoss is a loss over Classes that an engine evaluates too (layers.ClassLosses).
type engineLoss interface {
	// onEngine returns how, for the similarity s that the loss sees of a metric's
	// value; away is the direction of what it is written in (see Matrix). It
	// returns nil where no engine does with the loss's parameters.
	onEngine(s engine.Quadratic, away float64) engineEval
	// terms is what Eval counts, for labels of a batch.
	terms(labels []int, classes int) int
}

type engineEval func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error

// byEngine adds the op by which the engine evaluates a loss on the matrix d, if it
// can and the matrix is large enough to be worth it.
func (n *Node) byEngine(g *layers.Graph, h hosted, d *layers.Node, o OpOptions) (out *layers.Node, done bool) {
	limit := o.HostClasses
	if limit == 0 {
		limit = hostClasses
	}
	e, ok := g.Engine().(engine.ClassLosses)
	if !ok || o.LogScale != nil || g.Err() != nil || h.loss.Columns() != Classes || h.matrix.Cols <= limit || h.matrix.Cols > engine.MaxClasses {
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

// engineForm returns how an engine evaluates a loss of a metric's values, nil if only
// the host does.
func engineForm(l Loss, similarity bool) (engineLoss, engineEval) {
	var v View
	if on, ok := l.(*viewed); ok {
		v, l = on.view, on.loss
	}
	similarity = v.Similarity(similarity)
	if w, ok := l.(written); ok {
		own, err := settled(w, similarity)
		if err != nil {
			return nil, nil // Eval says what is wrong
		}
		l = own
	}
	s, ok := v.quadratic()
	e, can := l.(engineLoss)
	if !ok || !can || PerClass(l) != 1 {
		return nil, nil
	}
	away := -1.
	if !similarity {
		away, s = 1, engine.Quadratic{A: -s.A, B: -s.B, C: -s.C}
	}
	eval := e.onEngine(s, away)
	if eval == nil {
		return nil, nil
	}
	return e, eval
}

// quadratic returns the view as a polynomial of the metric's value; ok is false for
// one with a root.
func (v View) quadratic() (q engine.Quadratic, ok bool) {
	switch {
	case !v.active:
		return engine.Quadratic{B: 1}, true
	case v.root:
		return q, false
	case v.square:
		return engine.Quadratic{A: float32(v.offset), C: float32(v.scale)}, true
	}
	return engine.Quadratic{A: float32(v.offset), B: float32(v.scale)}, true
}

// classSoftmax is the engine's evaluation by one specification.
func classSoftmax(spec engine.ClassSoftmaxSpec) engineEval {
	return func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error {
		return e.ClassSoftmax(loss, dd, d, labels, spec)
	}
}

func (l *ProxyAnchor) onEngine(s engine.Quadratic, away float64) engineEval {
	spec := engine.ProxyAnchorSpec{
		Similarity: s, Alpha: float32(l.Alpha), PosMargin: float32(-away * l.PosMargin), NegMargin: float32(-away * l.NegMargin),
	}
	return func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error {
		return e.ProxyAnchor(loss, dd, d, labels, spec)
	}
}

// terms counts the classes with rows, and those with rows of others.
func (*ProxyAnchor) terms(labels []int, classes int) int {
	seen := make(map[int]bool, len(labels))
	for _, label := range labels {
		seen[label] = true
	}
	if len(seen) == 1 {
		return classes
	}
	return len(seen) + classes
}

func (l *NormalizedSoftmax) onEngine(s engine.Quadratic, _ float64) engineEval {
	return classSoftmax(engine.ClassSoftmaxSpec{Similarity: s, Scale: float32(1 / l.Temperature)})
}

func (*NormalizedSoftmax) terms(labels []int, _ int) int { return len(labels) }

func (l *CosFace) onEngine(s engine.Quadratic, _ float64) engineEval {
	return classSoftmax(engine.ClassSoftmaxSpec{Similarity: s, Scale: float32(l.Scale), Margin: float32(l.Margin)})
}

func (*CosFace) terms(labels []int, _ int) int { return len(labels) }

func (l *ArcFace) onEngine(s engine.Quadratic, away float64) engineEval {
	if away > 0 {
		return nil // Eval says what is wrong
	}
	return classSoftmax(engine.ClassSoftmaxSpec{Similarity: s, Scale: float32(l.Scale), Angle: l.MarginDegrees * math.Pi / 180})
}

func (*ArcFace) terms(labels []int, _ int) int { return len(labels) }

func (l *ProxyNCA) onEngine(s engine.Quadratic, _ float64) engineEval {
	if l.OthersOnly && l.Smoothing != 0 {
		return nil
	}
	return classSoftmax(engine.ClassSoftmaxSpec{Similarity: s, Scale: float32(l.Scale), Smoothing: float32(l.Smoothing), OthersOnly: l.OthersOnly})
}

func (*ProxyNCA) terms(labels []int, _ int) int { return len(labels) }
