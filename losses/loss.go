// Package losses holds the losses of metric learning, with their miners and
// regularizers.
//
// To train with a loss, name it in the settings of a run (package run); nothing here is
// needed for that. To compute one, make it with New, or as a struct, and call Eval on a
// matrix of metric values between the rows of a batch:
//
//	l, err := losses.New("triplet", losses.Options{Metric: m}) // List says what there is
//	l := &losses.Triplet{Margin: 0.2}                          // or directly
//	grad := make([]float64, len(matrix.V))
//	r, err := l.Eval(matrix, grad)                             // r.Value, and its derivative in grad
//
// To add one of your own, implement Loss, test it with CheckGradient, and make it known
// to runs with Register; the program examples/customloss is a whole one.
//
// # What a loss sees
//
// A Loss sees a Matrix of metric values between the rows of a batch and either the same
// rows or one row for each class (a proxy), with labels. It returns its value and the
// gradient of the matrix. It never sees embeddings or an engine, so every loss works with
// every metric.Metric. Both directions, distance and similarity, go through the same
// formulas: Matrix.Similarity says which.
//
// Where a loss's authors used cosines or distances of unit vectors, a View in front of it
// (On) makes any metric look like these. New puts it there. A loss that is written in the
// metric's own values (contrastive, triplet, quadruplet) needs none.
//
// # Zero values
//
// The zero value of a loss, of which no exported field is set, is the paper's loss, with
// the constants that New has as defaults on a cosine. The comment of each loss states its
// unit: cosines, 1 - cosine, or distances of unit vectors. A matrix of the other
// direction, without a View, is an error.
//
// As soon as one field is set, every field counts as it is: those that are not set are 0.
// A field whose value means nothing (a scale of 0, NaN) is an error of Eval that names it.
// Where a loss cannot know a number by itself (the boundaries of Margin, the dimension of
// SpreadOut), the zero value is an error. The same holds for miners and terms.
//
// # Beside the loss
//
// Miners (TripletMiner, PairMiner) pick terms by values and labels only. Triplet needs
// none to look at all triplets, or at all in a Window: it sorts. A RowTerm is a
// regularizer on embeddings or weights themselves; NewTerm and ListTerms are its New and
// List.
//
// Whoever runs a loss also asks, for the few that have them, for its Parameters (learned
// boundaries), how many rows it wants for each class (PerClass), whether it adds a term on
// these (ClassTerm), and whether they are given instead of learned (FixedClasses). A loss
// of a program's own has these methods where it needs them: Parameters() []Param,
// PerClass() int, ClassTerm() Loss, FixedClasses(classes, dim int, seed uint64)
// ([]float64, error).
//
// A value of a loss keeps its working memory between calls, so that a training step
// allocates next to nothing after the first. It must not be used by two goroutines at
// once. Results are the same bits on any number of processors. With more than 1,000 class
// rows an engine may evaluate some losses in place of the host (engine.ClassLosses), so
// that the matrix stays with it; it must agree with the Loss.
package losses

import (
	"fmt"
	"math"
)

// Loss maps a matrix of metric values to a number and its gradient.
type Loss interface {
	// Columns says which matrix the loss wants.
	Columns() Columns
	// Eval returns the loss and overwrites grad (Rows x Cols) with its
	// derivative with respect to m.V. A batch in which nothing is active gives
	// exactly 0 and a zero gradient. Errors are for matrices that the loss
	// cannot mean anything on: labels out of range, wrong lengths, the wrong
	// direction, values that are no numbers, or too large to sum up (ErrNotFinite);
	// and for fields of the loss whose value means nothing.
	Eval(m *Matrix, grad []float64) (Result, error)
}

// Columns says what a loss compares a batch with.
type Columns uint8

const (
	// Batch means the batch itself: the matrix is Rows x Rows.
	Batch Columns = iota
	// Classes means one or more parameter rows a class (proxies, centers).
	Classes
	// OwnClass is for terms on class rows alone: each is compared with the K of its
	// own class. The matrix is C*K x K, row c*K + i that of row i of class c, column j
	// row j of the same class. ColLabels is nil.
	OwnClass
)

// String is batch, classes or own class.
func (c Columns) String() string {
	switch c {
	case Classes:
		return "classes"
	case OwnClass:
		return "own class"
	}
	return "batch"
}

// MarshalText writes what String returns.
func (c Columns) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Result is what a loss says of one batch.
type Result struct {
	Value float64
	// Active and Total count the terms (pairs, triplets, anchors: the loss's
	// own) that had a gradient, and all of them.
	Active, Total int
}

// Reduction says how a loss puts its terms (pairs, triplets) together. A batch
// without terms gives 0.
type Reduction uint8

const (
	// MeanNonZero is the mean over the terms above 0, so that easy terms do not
	// dilute the others.
	MeanNonZero Reduction = iota
	// MeanAll is the mean over all terms, zeros included.
	MeanAll
	// PerAnchor is the mean over anchors with a term above 0 of the mean over
	// that anchor's terms above 0: a row with many active terms counts no more
	// than a row with one.
	PerAnchor
)

// Param is a number or an array that a loss owns besides its class rows: a
// learned boundary, or a statistic that it keeps from batch to batch. A
// checkpoint holds both.
type Param struct {
	Name  string
	Shape []int
	// Value is the loss's own memory: writing to it changes the loss.
	Value []float64
	// Grad is overwritten by every Eval. It is nil for a statistic, which no
	// optimizer moves.
	Grad []float64
}

// Parameterized is a loss or a term with parameters of its own.
type Parameterized interface {
	Parameters() []Param
}

// Parameters returns what a loss or a RowTerm owns, nothing for most.
func Parameters(l any) []Param {
	if v, ok := l.(*viewed); ok {
		return Parameters(v.loss)
	}
	if p, ok := l.(Parameterized); ok {
		return p.Parameters()
	}
	return nil
}

// PerClass returns how many class rows the loss wants for each class: column
// class*PerClass + k is row k of a class. It is 1 for most losses, and means
// nothing for those that compare a batch with itself.
func PerClass(l Loss) int {
	if v, ok := l.(*viewed); ok {
		return PerClass(v.loss)
	}
	if p, ok := l.(interface{ PerClass() int }); ok {
		return p.PerClass()
	}
	return 1
}

// ClassTerm returns the term that a loss adds on its class rows alone, or nil.
// It is a loss over OwnClass.
func ClassTerm(l Loss) Loss {
	if v, ok := l.(*viewed); ok {
		if term := ClassTerm(v.loss); term != nil {
			return On(v.view, term)
		}
		return nil
	}
	if p, ok := l.(interface{ ClassTerm() Loss }); ok {
		return p.ClassTerm()
	}
	return nil
}

// FixedClasses returns the class rows, (classes, dim) row-major, of a loss
// whose class rows are not learned. It returns nil for other losses.
func FixedClasses(l Loss, classes, dim int, seed uint64) ([]float64, error) {
	if v, ok := l.(*viewed); ok {
		return FixedClasses(v.loss, classes, dim, seed)
	}
	if f, ok := l.(interface {
		FixedClasses(classes, dim int, seed uint64) ([]float64, error)
	}); ok {
		return f.FixedClasses(classes, dim, seed)
	}
	return nil, nil
}

// CheckGradient compares the gradient of a loss on a matrix with central differences of
// its value, and returns an error that names the pair that disagrees most, or what is
// wrong otherwise. Values at which the loss has a kink, such as a pair right at its
// margin, disagree without a mistake: take another matrix.
func CheckGradient(l Loss, m *Matrix) error {
	const (
		step = 1e-5
		off  = 1e-5 // relative to the larger of both and 1
	)
	if err := m.checkSizes(); err != nil {
		return fmt.Errorf("losses: %w", err)
	}
	grad, scratch := make([]float64, len(m.V)), make([]float64, len(m.V))
	for k := range grad {
		grad[k] = math.NaN() // Eval overwrites it
	}
	if _, err := l.Eval(m, grad); err != nil {
		return err
	}
	moved := *m
	moved.V = append([]float64(nil), m.V...)
	worst, what := 0., ""
	for k, at := range m.V {
		moved.V[k] = at + step
		above, err := l.Eval(&moved, scratch)
		if err != nil {
			return err
		}
		moved.V[k] = at - step
		below, err := l.Eval(&moved, scratch)
		if err != nil {
			return err
		}
		moved.V[k] = at
		want := (above.Value - below.Value) / (2 * step)
		d := math.Abs(grad[k]-want) / max(1, math.Abs(grad[k]), math.Abs(want))
		if !(d <= worst) { // NaN too
			worst, what = d, fmt.Sprintf("losses: row %d, column %d: the gradient is %.6g, the difference quotient %.6g", k/m.Cols, k%m.Cols, grad[k], want)
		}
		if d != d {
			break
		}
	}
	if worst <= off {
		return nil
	}
	return fmt.Errorf("%s", what)
}

// mean divides value and gradient by the number of terms.
func (r Result) mean(grad []float64) Result { return r.over(grad, float64(r.Total)) }

// over divides value and gradient by a number; by 0 it gives exactly 0.
func (r Result) over(grad []float64, divisor float64) Result {
	if divisor == 0 {
		r.Value = 0
		zero(grad)
		return r
	}
	r.Value /= divisor
	inverse := 1 / divisor
	for k, g := range grad {
		if g != 0 {
			grad[k] = g * inverse
		}
	}
	return r
}

// tally counts the terms of every anchor, all and above 0.
type tally struct {
	all, active       []int
	sumAll, sumActive int // of all ranks' anchors, after weights
}

func (t *tally) reset(anchors int) {
	t.all = grow(t.all, anchors)
	t.active = grow(t.active, anchors)
	clear(t.all)
	clear(t.active)
}

// weights returns what one term above 0 of the given anchor counts in the
// loss, for each anchor of m.
func (t *tally) weights(m *Matrix, r Reduction, out []float64) []float64 {
	out = grow(out, len(t.all))
	all, active, anchors := 0, 0, 0
	for a, n := range t.active {
		all, active = all+t.all[a], active+n
		if n > 0 {
			anchors++
		}
	}
	sums := m.total(all, active, anchors)
	all, active, anchors = sums[0], sums[1], sums[2]
	t.sumAll, t.sumActive = all, active
	for a, n := range t.active {
		switch {
		case n == 0:
			out[a] = 0
		case r == MeanAll:
			out[a] = 1 / float64(all)
		case r == PerAnchor:
			out[a] = 1 / (float64(anchors) * float64(n))
		default:
			out[a] = 1 / float64(active)
		}
	}
	return out
}
