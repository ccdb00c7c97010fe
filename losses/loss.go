package losses

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
}

// Columns says what a loss compares a batch with.
type Columns uint8

const (
	// Batch means the batch itself: the matrix is Rows x Rows.
	Batch Columns = iota
	// Classes means one or more parameter rows a class (proxies, centres).
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
