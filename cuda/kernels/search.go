package kernels

// MaxWindows is how many windows a row may have in Between.
const MaxWindows = 512

// KthSmallest sets out (rows) to the k-th smallest number of each row of x (rows,
// n), its column skip[row] left out unless that is -1; NaN where the row has one.
func KthSmallest(rows, n, k int, out, x, skip Ptr) Launch {
	return launch("kth_smallest", perRow(rows), n, k, out, x, skip)
}

// RowLeast sets least (rows) to the smallest number of each row of x (rows, n), and
// at (rows), int32, to the first column that has it.
func RowLeast(rows, n int, at, least, x Ptr) Launch {
	return launch("row_least", perRow(rows), n, at, least, x)
}

// Windows are what Between looks for. Row r has windows First[r] up to First[r+1],
// at most MaxWindows, each a low and a high number in Bounds; they ascend and do not
// overlap.
type Windows struct{ First, Bounds Ptr }

// Found is where Between leaves its answers: Below (windows) the count of numbers
// under each low; from At[r] on, Count[r] columns and values of numbers in windows
// of row r, where At[r]+Count[r] is within Capacity; in Total, 0 before, the sum of
// Count. At, Count (rows), Below and Total are int32.
type Found struct {
	Below, At, Count, Total Ptr
	Capacity                int
	Columns, Values         Ptr
}

// Between looks through the rows of x (rows, n), column skip[row] left out.
func Between(rows, n int, f Found, x, skip Ptr, w Windows) Launch {
	return launch("between", perRow(rows), n, f.Below, f.At, f.Count, f.Total, f.Capacity, f.Columns, f.Values, x, skip, w.First, w.Bounds)
}

// Pick sets out[e] to column columns[e] of row rows[e] of x, whose rows have width
// numbers.
func Pick(n int64, width int, out, x, rows, columns Ptr) Launch {
	return launch("pick", flat(n), n, width, out, x, rows, columns)
}

// PairValues sets d[e] to BRM between rows[e] of a and columns[e] of b, for count
// pairs of rows of h numbers, in float64: restriction counts sigmoid, softsign,
// arctan, tanh and isru from 0, power is 1 or 2.
func PairValues(count, h int, d, a, b, rows, columns Ptr, restriction, power int, rooted bool, omega float64) Launch {
	return launch("pair_values", perRow(count), h, d, a, b, rows, columns, restriction, power, rooted, omega)
}
