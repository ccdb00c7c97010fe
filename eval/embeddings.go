package eval

import (
	"errors"
	"fmt"
	"slices"
)

// Embeddings are N rows of H numbers with their labels. Labels may be any
// integers: gaps and negative numbers are fine. A search needs none (nil).
type Embeddings struct {
	X      []float32 // (N, H), row-major
	N, H   int
	Labels []int // N long, or nil
	// Distances, if not nil, compares these rows in place of a metric: it sets dst[j] to the
	// distance of a row from row j of rows. Retrieval is by it, and figures of what else
	// needs a metric are left out.
	Distances func(dst []float64, row, rows []float32)
}

// Validate reports the first thing that is wrong: sizes that do not fit each
// other, or a row that holds NaN or infinity.
func (e *Embeddings) Validate() error {
	if err := e.checkShape(); err != nil {
		return err
	}
	return e.checkFinite()
}

// checkShape is Validate without a look at the numbers.
func (e *Embeddings) checkShape() error {
	switch {
	case e == nil:
		return errors.New("eval: no embeddings")
	case e.N < 1 || e.H < 1:
		return fmt.Errorf("eval: %d rows of %d numbers: both must be at least 1", e.N, e.H)
	case len(e.X) != e.N*e.H:
		return fmt.Errorf("eval: %d numbers do not make %d rows of %d, which need %d", len(e.X), e.N, e.H, e.N*e.H)
	case e.Labels != nil && len(e.Labels) != e.N:
		return fmt.Errorf("eval: %d labels for %d rows", len(e.Labels), e.N)
	}
	return nil
}

// ValidateLabeled is Validate for figures that need labels.
func (e *Embeddings) ValidateLabeled() error {
	if err := e.Validate(); err != nil {
		return err
	}
	if e.Labels == nil {
		return errors.New("eval: these embeddings have no labels")
	}
	return nil
}

// Row returns row i, which shares memory with X.
func (e *Embeddings) Row(i int) []float32 { return e.X[i*e.H : (i+1)*e.H : (i+1)*e.H] }

// Select copies the given rows, in that order, with their labels. The indices
// must be in range.
func (e *Embeddings) Select(rows []int) *Embeddings {
	s := &Embeddings{X: e.gather(rows), N: len(rows), H: e.H, Distances: e.Distances}
	if e.Labels != nil {
		for _, i := range rows {
			s.Labels = append(s.Labels, e.Labels[i])
		}
	}
	return s
}

// with puts the rows of a gallery, if there is one, behind those of e. Both need labels.
func (e *Embeddings) with(gallery *Embeddings) (*Embeddings, error) {
	if gallery == nil {
		return e, nil
	}
	if err := gallery.ValidateLabeled(); err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	if gallery.H != e.H {
		return nil, fmt.Errorf("eval: queries of %d numbers, a gallery of %d: both must come from one model", e.H, gallery.H)
	}
	return &Embeddings{X: slices.Concat(e.X, gallery.X), N: e.N + gallery.N, H: e.H, Labels: slices.Concat(e.Labels, gallery.Labels), Distances: e.Distances}, nil
}

// gather copies the numbers of rows.
func (e *Embeddings) gather(rows []int) []float32 {
	x := make([]float32, 0, len(rows)*e.H)
	for _, i := range rows {
		x = append(x, e.Row(i)...)
	}
	return x
}

// LeaveOneOut returns 0..n-1: row i of the queries is row i of the gallery.
func LeaveOneOut(n int) []int {
	self := make([]int, n)
	for i := range self {
		self[i] = i
	}
	return self
}

// Compact numbers the distinct labels 0..C-1 in ascending order. It returns the
// number of each row and the labels in that order. A set with labels 98..195
// thus has 98 classes, not 196.
func Compact(labels []int) (class []int, distinct []int) {
	distinct = slices.Clone(labels)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	at := make(map[int]int, len(distinct))
	for c, l := range distinct {
		at[l] = c
	}
	class = make([]int, len(labels))
	for i, l := range labels {
		class[i] = at[l]
	}
	return class, distinct
}

// members lists the rows of each class 0..classes-1, ascending.
func members(class []int, classes int) [][]int32 {
	size := make([]int, classes)
	for _, c := range class {
		size[c]++
	}
	rows := make([][]int32, classes)
	all := make([]int32, len(class))
	for c, n := range size {
		rows[c], all = all[:0:n], all[n:]
	}
	for i, c := range class {
		rows[c] = append(rows[c], int32(i))
	}
	return rows
}
