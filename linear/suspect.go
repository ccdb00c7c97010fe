package linear

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/plural"
)

// manyWords is the number of categories from which on they look like names.
const manyWords = 20

// Suspects says which columns are probably no features: those that number the rows,
// repeat the label, have another word in most rows, hold codes or one number far from all
// others.
func (t *Table) Suspects() []string {
	var out []string
	for _, c := range t.Columns {
		switch {
		case c.code != nil:
			out = append(out, fmt.Sprintf("%v has a leading zero: if the numbers of the column are codes, name it categorical", c.code))
		case c.outlier() >= 0:
			i := c.outlier()
			out = append(out, fmt.Sprintf("%s, column %q: %g lies so far from the others that beside it they hardly differ: is it a slip, or a mark for no value?", t.place(i), c.Name, c.Numbers[i]))
		case c.numbersRows():
			out = append(out, fmt.Sprintf("column %q numbers the rows: leave it out if it is no measurement", c.Name))
		case t.repeatsLabel(c):
			out = append(out, fmt.Sprintf("column %q has one value of its own for each class: it is the label in other words, and a metric that is learned with it is worth nothing without", c.Name))
		case c.Words != nil:
			if n := len(categories(c.Words, allRows(t.rows))); n > manyWords && 2*n > t.rows {
				out = append(out, fmt.Sprintf("column %q holds %s in %s, each of which becomes a column: leave it out if they are names", c.Name, plural.Of(n, "different word"), plural.Of(t.rows, "row")))
			}
		}
	}
	return out
}

// farOut is how many times the range of the middle half of the rows a number may be away
// from the median before it leaves nothing of the others in 32 bits.
const farOut = 1e6

// outlier returns the row of the number that is farther out than that, -1 if there is none.
func (c Column) outlier() int {
	var there []float64
	for _, v := range c.Numbers {
		if !math.IsNaN(v) {
			there = append(there, v)
		}
	}
	if len(there) < 4 {
		return -1
	}
	median, half := quantile(there, .5), quantile(there, .75)-quantile(there, .25)
	at, most := -1, farOut*half
	for i, v := range c.Numbers {
		if d := math.Abs(v - median); half > 0 && d > most {
			at, most = i, d
		}
	}
	return at
}

// numbersRows reports whether the column is 0, 1, 2, ... or 1, 2, 3, ...
func (c Column) numbersRows() bool {
	if len(c.Numbers) < 3 || c.Numbers[0] != 0 && c.Numbers[0] != 1 {
		return false
	}
	for i, v := range c.Numbers {
		if v != c.Numbers[0]+float64(i) {
			return false
		}
	}
	return true
}

// repeatsLabel reports whether each class has one value in the column, and each
// value one class.
func (t *Table) repeatsLabel(c Column) bool {
	classOf, valueOf := map[any]int{}, map[int]any{}
	for i, y := range t.Labels {
		var value any
		if c.Words != nil {
			value = c.Words[i]
		} else if value = c.Numbers[i]; math.IsNaN(c.Numbers[i]) {
			value = ""
		}
		if y == Unknown || value == "" {
			continue
		}
		class, known := classOf[value]
		was, had := valueOf[y]
		if known && class != y || had && was != value {
			return false
		}
		classOf[value], valueOf[y] = y, value
	}
	return len(valueOf) > 1 && len(t.Labels) > len(valueOf)
}

// What numbers of 32 bits can tell apart, in which neighbors are searched and large
// products are computed: squares stay far from the ends of their range, and differences
// keep bits enough when they come from sums of squares.
const (
	largestValue  = 1e15
	smallestRange = 1e-15
	offsetLimit   = 512 // of the largest value over the largest range

	smallestNormal = 0x1p-1022 // of 64 bits: below, numbers lose digits
)

// ErrRange says that columns that are not standardized are not fit to be computed with.
var ErrRange = errors.New("standardize the columns, or scale them")

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
	if !e.Standardized {
		return fmt.Errorf("%s, column %q holds %g, which is too large to be squared in 32 bits: %w", t.place(row), name, v, ErrRange)
	}
	return fmt.Errorf("%s, column %q is %g deviations from the mean of the rows that the metric was learned on: is it of the same unit?", t.place(row), name, v)
}
