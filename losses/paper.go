package losses

import (
	"fmt"

	"github.com/vernier-ml/vernier/metric"
)

// written is a loss of this package. Its Eval is evaluate, which calls eval on the
// loss itself, or where no field is set on the paper's.
type written interface {
	Loss
	parameters
	about() about
	eval(m *Matrix, grad []float64) (Result, error)
}

// about is what a loss says of itself: its row of the catalogue, from which come the
// constants of its zero value.
type about struct {
	name  string
	entry func(Options) entry
	paper *paper
}

// paper holds the loss that a zero value stands for, once it has been used.
type paper struct {
	loss       written
	similarity bool // of the matrix that it is for
}

// evaluate is Eval of every loss of the package.
func evaluate(l written, m *Matrix, grad []float64) (Result, error) {
	name := l.about().name
	if err := m.checkSizes(); err != nil {
		return Result{}, fmt.Errorf("losses: %s: %w", name, err)
	}
	own, err := settled(l, m.Similarity)
	if err != nil {
		return Result{}, err
	}
	r, err := own.eval(m, grad)
	if err != nil {
		return r, err
	}
	return r, checkValue(name, r.Value)
}

// checkValue refuses a sum that has overflowed.
func checkValue(name string, x float64) error {
	if x-x != 0 {
		return fmt.Errorf("losses: %s: the sum %v is %w: values are too large", name, x, ErrNotFinite)
	}
	return nil
}

// settled returns the loss that l stands for on a matrix of the given direction, or
// what is wrong with its fields.
func settled(l written, similarity bool) (written, error) {
	a := l.about()
	return settle(a.name, l, similarity, func() (written, error) { return a.fromPaper(similarity) })
}

// checkLoss says what is wrong with the fields of any loss, before it sees a matrix.
func checkLoss(l Loss, similarity bool) error {
	if v, ok := l.(*viewed); ok {
		return checkLoss(v.loss, v.view.Similarity(similarity))
	}
	if w, ok := l.(written); ok {
		_, err := settled(w, similarity)
		return err
	}
	return nil
}

// fromPaper returns the loss with the defaults that New gives it on a cosine. A loss
// in a metric's own values has those of the Euclidean distance of unit vectors where
// the matrix holds distances.
func (a about) fromPaper(similarity bool) (written, error) {
	if a.paper.loss != nil && a.paper.similarity == similarity {
		return a.paper.loss, nil
	}
	e := a.entry(Options{Metric: metric.Metric{Kind: metric.Cosine}, Scale: 1})
	switch {
	case !e.view.active:
		e = a.entry(unitVectors(similarity))
	case e.view.similarity != similarity && !e.shifts:
		return nil, fmt.Errorf("losses: %s: the constants of the zero value are for %s; put that in front of other values (On), or set the fields", a.name, e.view.onCosine())
	}
	v, err := readValues(e.settings, nil, yardstick{})
	if err != nil {
		return nil, err
	}
	l, err := e.build(v)
	if err != nil {
		return nil, fmt.Errorf("losses: %s: %w", a.name, err)
	}
	*a.paper = paper{loss: l.(written), similarity: similarity}
	return a.paper.loss, nil
}

// unitVectors are the options of what a matrix without a metric is taken for: cosines,
// or Euclidean distances of unit vectors.
func unitVectors(similarity bool) Options {
	if similarity {
		return Options{Metric: metric.Metric{Kind: metric.Cosine}, Scale: 1}
	}
	return Options{Metric: metric.Metric{Kind: metric.Euclidean}, Scale: 1}
}

// onCosine says what a view on a cosine holds, and its name.
func (v View) onCosine() string {
	switch {
	case v.similarity:
		return "cosines (the view AsSimilarity)"
	case v.root:
		return "distances of unit vectors (the view AsSphere)"
	}
	return "distances of 1 - cosine (the view AsSquared)"
}
