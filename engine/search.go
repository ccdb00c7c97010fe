package engine

import "github.com/vernier-ml/vernier/metric"

// RowSearcher is an Engine with memory of its own that looks through the rows of a
// matrix there, so that a search brings to the host what it has found and not all
// distances.
type RowSearcher interface {
	// Pick returns element [rows[i]][columns[i]] of x (n, k) for every i.
	Pick(x Tensor, rows, columns []int32) ([]float32, error)
	// Least returns the smallest number of each row of x, and the first column that
	// has it.
	Least(x Tensor) (columns []int32, values []float32, err error)
	// KthSmallest returns the k-th smallest number of each row of x, k from 1, or
	// NaN of a row that has one. skip[r], unless it is -1, is a column that row r
	// is taken not to have.
	KthSmallest(x Tensor, k int, skip []int32) ([]float32, error)
	// Between finds the numbers of each row of x that lie in windows, column
	// skip[r] left out as before.
	Between(x Tensor, skip []int32, w RowWindows) (*RowsFound, error)
	// PairValues returns m, a BRM, of rows a[rows[i]] and b[columns[i]] in float64,
	// for every i. Each differs from Metric.Value by no more than PairError times
	// itself.
	PairValues(a, b Tensor, rows, columns []int32, m metric.Metric) ([]float64, error)
}

// PairError is the relative error of RowSearcher.PairValues beside Metric.Value for
// rows of h numbers: R is within a few hundred units in the last place, its square
// within twice as many, and sums add one a term.
func PairError(h int) float64 { return float64(h+1024) * 0x1p-53 }

// MaxRowWindows is how many windows a row may have.
const MaxRowWindows = 512

// RowWindows are windows [Low, High] of numbers. Row r has those from First[r] to
// First[r+1]-1, at most MaxRowWindows, which ascend and do not overlap. One with
// High below Low contains nothing.
type RowWindows struct {
	First     []int32 // one more than there are rows
	Low, High []float32
}

// RowsFound is what lies in windows. NaN lies nowhere and is below nothing.
type RowsFound struct {
	// Below is, for every window, the count of numbers less than its Low.
	Below []int32
	// Row r has Columns and Values from First[r] to First[r+1]-1, in ascending
	// order of columns.
	First   []int32
	Columns []int32
	Values  []float32
}

// Of returns what was found in row r, which shares memory with f.
func (f *RowsFound) Of(r int) (columns []int32, values []float32) {
	return f.Columns[f.First[r]:f.First[r+1]], f.Values[f.First[r]:f.First[r+1]]
}
