package losses

import (
	"errors"
	"fmt"
	"math"
)

// Matrix holds metric values between rows (the batch) and columns, and the
// labels that say which of them belong together.
type Matrix struct {
	Rows, Cols int
	V          []float64 // Rows x Cols, row-major
	RowLabels  []int     // Rows long, 0..C-1
	ColLabels  []int     // Cols long
	// Similarity says that larger values mean closer. The zero value is a distance.
	Similarity bool
	// SelfColumns says that column i is the same item as row i for i < Rows;
	// pair losses leave these out by index. Columns beyond are other items, unless
	// they have a row's id.
	SelfColumns bool
	// RowIDs and ColIDs, both or none, name items: pair losses also leave out a
	// column that is the row's own item of another time. A negative id is no
	// item.
	RowIDs, ColIDs []int

	others *others // who has the other rows; nil where these are all
}

// ErrNotFinite is wrapped by the error of a loss or a miner that was given a
// matrix with NaN or infinity in it.
var ErrNotFinite = errors.New("not a finite number")

// errNoMatrix is the error of a nil *Matrix.
var errNoMatrix = errors.New("the matrix is nil")

// errSquare is wrapped by the error of a loss or a miner that looks at values
// between two of an anchor's columns.
var errSquare = errors.New("the matrix of a batch with itself")

// NeedsSquare reports whether a loss on pairs takes nothing but the matrix of a
// batch with itself, without further columns such as those of a memory. It tries
// the loss on a small matrix, and so moves the random numbers of one that draws.
func NeedsSquare(l Loss) bool {
	m := &Matrix{Rows: 2, Cols: 3, V: []float64{1, 0.5, 0.3, 0.5, 1, 0.3}, RowLabels: []int{0, 0}, ColLabels: []int{0, 0, 1}, SelfColumns: true, RowIDs: []int{0, 1}, ColIDs: []int{-1, -1, 2}}
	for _, m.Similarity = range []bool{false, true} {
		if _, err := l.Eval(m, make([]float64, len(m.V))); errors.Is(err, errSquare) {
			return true
		}
	}
	return false
}

// Away is the direction of the matrix: Away*V grows as two items get farther
// apart. Every loss is written in Away*(V - margin), so that a distance and a
// similarity need no separate forms.
func (m *Matrix) Away() float64 {
	if m.Similarity {
		return -1
	}
	return 1
}

// Self reports whether column j is row i's own item.
func (m *Matrix) Self(i, j int) bool {
	return m.SelfColumns && i == j || m.ColIDs != nil && m.ColIDs[j] == m.RowIDs[i] && m.ColIDs[j] >= 0
}

// row returns row i of v, which is laid out as m.V.
func (m *Matrix) row(v []float64, i int) []float64 { return v[i*m.Cols : (i+1)*m.Cols] }

// check says what is wrong with the matrix, or with the gradient's length.
func (m *Matrix) check(loss string, grad []float64) error {
	if err := m.checkShape(); err != nil {
		return fmt.Errorf("losses: %s: %w", loss, err)
	}
	if len(grad) != len(m.V) {
		return fmt.Errorf("losses: %s: gradient has %d values, the matrix %d x %d = %d", loss, len(grad), m.Rows, m.Cols, len(m.V))
	}
	return nil
}

func (m *Matrix) checkShape() error {
	if err := m.checkSizes(); err != nil {
		return err
	}
	switch {
	case len(m.ColLabels) != m.Cols:
		return fmt.Errorf("Matrix.ColLabels has %d labels for %d columns", len(m.ColLabels), m.Cols)
	case (m.RowIDs != nil || m.ColIDs != nil) && (len(m.RowIDs) != m.Rows || len(m.ColIDs) != m.Cols):
		return fmt.Errorf("Matrix.RowIDs and Matrix.ColIDs have %d and %d ids for %d rows and %d columns; set both or none", len(m.RowIDs), len(m.ColIDs), m.Rows, m.Cols)
	case m.SelfColumns && m.Cols < m.Rows:
		return fmt.Errorf("Matrix.SelfColumns says that columns start with the rows themselves, but there are %d columns for %d rows", m.Cols, m.Rows)
	}
	for i, label := range m.RowLabels {
		if m.SelfColumns && m.ColLabels[i] != label {
			return fmt.Errorf("row %d has label %d, the same item as a column has label %d: Matrix.ColLabels must begin with RowLabels where SelfColumns is set", i, label, m.ColLabels[i])
		}
	}
	for j, label := range m.ColLabels {
		if label < 0 {
			return fmt.Errorf("column %d has label %d; Matrix.ColLabels run from 0", j, label)
		}
	}
	return m.checkFinite()
}

// checkSizes checks values and labels of the rows.
func (m *Matrix) checkSizes() error {
	switch {
	case m == nil:
		return errNoMatrix
	case m.Rows < 1 || m.Cols < 1:
		return fmt.Errorf("matrix of %d rows and %d columns: Matrix.Rows and Matrix.Cols must be 1 or more", m.Rows, m.Cols)
	case m.Rows > len(m.V) || m.Cols > len(m.V) || len(m.V) != m.Rows*m.Cols:
		return fmt.Errorf("Matrix.V has %d values for a %d x %d matrix, want Rows*Cols", len(m.V), m.Rows, m.Cols)
	case len(m.RowLabels) != m.Rows:
		return fmt.Errorf("Matrix.RowLabels has %d labels for %d rows", len(m.RowLabels), m.Rows)
	}
	for i, label := range m.RowLabels {
		if label < 0 {
			return fmt.Errorf("row %d has label %d; Matrix.RowLabels run from 0", i, label)
		}
	}
	return nil
}

func (m *Matrix) checkFinite() error {
	for k, v := range m.V {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("row %d, column %d: %v is %w", k/m.Cols, k%m.Cols, v, ErrNotFinite)
		}
	}
	return nil
}

// checkMined is check for a miner, and for whether its list is nil.
func (m *Matrix) checkMined(miner string, noList bool) error {
	err := m.checkShape()
	if err == nil && noList {
		err = errors.New("the list for what is mined is nil")
	}
	if err != nil {
		return fmt.Errorf("losses: %s: %w", miner, err)
	}
	return nil
}

// checkOwnClass is check for the matrix of class rows with those of their own class.
func (m *Matrix) checkOwnClass(loss string, grad []float64) error {
	if err := m.checkSizes(); err != nil {
		return fmt.Errorf("losses: %s: %w", loss, err)
	}
	switch {
	case m.Rows%m.Cols != 0:
		return fmt.Errorf("losses: %s: %d class rows are not a multiple of %d a class", loss, m.Rows, m.Cols)
	case len(grad) != len(m.V):
		return fmt.Errorf("losses: %s: gradient has %d values, the matrix %d x %d = %d", loss, len(grad), m.Rows, m.Cols, len(m.V))
	case m.ColLabels != nil || m.SelfColumns:
		return fmt.Errorf("losses: %s compares class rows with those of their own class, not with further columns or a batch with itself", loss)
	}
	for i, label := range m.RowLabels {
		if first := m.RowLabels[i-i%m.Cols]; label != first {
			return fmt.Errorf("losses: %s: class row %d stands for class %d, row %d for %d: %d that follow each other are one class's", loss, i, label, i-i%m.Cols, first, m.Cols)
		}
	}
	if err := m.checkFinite(); err != nil {
		return fmt.Errorf("losses: %s: %w", loss, err)
	}
	return nil
}

// checkClasses is check for a matrix whose columns stand for classes: it also
// asks for a column of every row's class.
func (m *Matrix) checkClasses(loss string, grad []float64) error {
	if err := m.check(loss, grad); err != nil {
		return err
	}
	if m.SelfColumns {
		return fmt.Errorf("losses: %s compares rows with classes, not with the batch itself", loss)
	}
	classes := 0
	for j, label := range m.ColLabels {
		if label >= m.Cols {
			return fmt.Errorf("losses: %s: column %d stands for class %d, but %d columns stand for classes 0..%d at most", loss, j, label, m.Cols, m.Cols-1)
		}
		classes = max(classes, label+1)
	}
	known := make([]bool, classes)
	for _, label := range m.ColLabels {
		known[label] = true
	}
	for i, label := range m.RowLabels {
		if label >= classes || !known[label] {
			return fmt.Errorf("losses: %s: row %d has label %d, but the columns stand for the %d classes 0..%d", loss, i, label, countTrue(known), classes-1)
		}
	}
	return nil
}

// checkSquare is check for a loss that also looks at the values between two of
// an anchor's columns: both must be rows.
func (m *Matrix) checkSquare(loss string, grad []float64) error {
	if err := m.check(loss, grad); err != nil {
		return err
	}
	if !m.SelfColumns || m.Cols != m.Rows {
		return fmt.Errorf("losses: %s needs %w, not %d rows by %d other columns", loss, errSquare, m.Rows, m.Cols)
	}
	return nil
}

// checkSimilarity refuses a distance where the loss has constants that mean a
// cosine.
func (m *Matrix) checkSimilarity(loss string) error {
	if !m.Similarity {
		return fmt.Errorf("losses: %s is written in similarities that end at 1; put the view AsSimilarity in front of a distance", loss)
	}
	return nil
}

// checkDistance refuses a similarity where the loss needs values from 0 on.
func (m *Matrix) checkDistance(loss string) error {
	if m.Similarity {
		return fmt.Errorf("losses: %s is written in distances from 0; put the view AsSquared or AsSphere in front of a similarity", loss)
	}
	return nil
}

func countTrue(b []bool) int {
	n := 0
	for _, x := range b {
		if x {
			n++
		}
	}
	return n
}

// split appends to pos and neg the columns that share row i's label (without
// the row's own item) and the others, in ascending order.
func (m *Matrix) split(i int, pos, neg []int) ([]int, []int) {
	label := m.RowLabels[i]
	for j, other := range m.ColLabels {
		switch {
		case other != label:
			neg = append(neg, j)
		case !m.Self(i, j):
			pos = append(pos, j)
		}
	}
	return pos, neg
}

// zero clears a gradient.
func zero(grad []float64) { clear(grad) }

// hinge is [x]+.
func hinge(x float64) float64 { return math.Max(x, 0) }

// classGroups returns for each class the place of its group of k consecutive
// columns: those of class c begin at out[c]*k. Groups may come in any order, and
// classes without rows may be missing.
func classGroups(loss string, m *Matrix, k int, out []int) ([]int, error) {
	if m.Cols%k != 0 {
		return nil, fmt.Errorf("losses: %s: %d columns are not a multiple of %d a class", loss, m.Cols, k)
	}
	count := 0
	for _, label := range m.ColLabels {
		count = max(count, label+1)
	}
	out = grow(out, count)
	for c := range out {
		out[c] = -1
	}
	for j, label := range m.ColLabels {
		switch {
		case j%k != 0 && m.ColLabels[j-1] != label:
			return nil, fmt.Errorf("losses: %s: column %d stands for class %d, but the %d columns of class %d are not complete", loss, j, label, k, m.ColLabels[j-1])
		case j%k == 0 && out[label] >= 0:
			return nil, fmt.Errorf("losses: %s wants %d column(s) a class; class %d has columns %d and %d", loss, k, label, out[label]*k, j)
		}
		out[label] = j / k
	}
	return out, nil
}
