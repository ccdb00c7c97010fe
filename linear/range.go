package linear

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// What numbers of 32 bits can tell apart, in which neighbors are searched and large
// products are computed: squares stay far from the ends of their range, and differences
// keep bits enough when they come from sums of squares.
const (
	largestValue  = 1e15
	smallestRange = 1e-15
	offsetLimit   = 512 // of the largest value over the largest range

	smallestNormal = 0x1p-1022 // of 64 bits: below, numbers lose digits
)

// ErrRange says that columns that are not standardised are not fit to be computed with.
var ErrRange = errors.New("standardise the columns, or scale them")

// checkRaw refuses columns, taken as they are, whose numbers differ too little or are too
// large. It looks at all together, as a distance does: what is small beside another column
// adds nothing to it.
func (e *Encoder) checkRaw(x *mat.Dense) error {
	n, d := x.Dims()
	names := e.Names()
	largest, at := 0.0, 0
	widest, from, to := 0.0, 0.0, 0.0
	for j := range d {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range n {
			low, high = min(low, x.At(i, j)), max(high, x.At(i, j))
		}
		if v := max(-low, high); v > largest {
			largest, at = v, j
		}
		if high-low > widest {
			widest, from, to = high-low, low, high
		}
	}
	switch {
	case largest > largestValue:
		return fmt.Errorf("column %q holds %g, which is too large to be squared in 32 bits: %w", names[at], largest, ErrRange)
	case widest > 0 && widest < smallestRange:
		return fmt.Errorf("no column holds numbers that differ by more than %g, which is too little to be squared in 32 bits: %w", widest, ErrRange)
	case widest > 0 && largest > offsetLimit*widest:
		return fmt.Errorf("column %q holds %g, beside which the differences of rows, %g at most (from %g to %g), are lost in 32 bits: %w", names[at], largest, widest, from, to, ErrRange)
	}
	return nil
}

// tooLarge says of the number in an encoded column what is wrong with it.
func (e *Encoder) tooLarge(t *Table, row, column int, v float64) error {
	name := e.Names()[column]
	if !e.Standardised {
		return fmt.Errorf("%s, column %q holds %g, which is too large to be squared in 32 bits: %w", t.place(row), name, v, ErrRange)
	}
	return fmt.Errorf("%s, column %q is %g deviations from the mean of the rows that the metric was learnt on: is it of the same unit?", t.place(row), name, v)
}

// finite refuses a matrix that was learnt from numbers that overflow.
func (r *Result) finite() error {
	n, d := r.L.Dims()
	for i := range n {
		for j := range d {
			if v := r.L.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("the learnt matrix holds %v: the numbers of the table are too large, too small or too much alike", v)
			}
		}
	}
	return nil
}
