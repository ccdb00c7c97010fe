package losses

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

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
