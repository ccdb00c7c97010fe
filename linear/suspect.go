package linear

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/internal/plural"
)

// manyWords is the number of categories from which on they look like names.
const manyWords = 20

// Suspects says which columns are probably no features: those that number the rows,
// repeat the label, have another word in most rows, or hold codes.
func (t *Table) Suspects() []string {
	var out []string
	for _, c := range t.Columns {
		switch {
		case c.code != nil:
			out = append(out, fmt.Sprintf("%v has a leading zero: if the numbers of the column are codes, name it categorical", c.code))
		case c.numbersRows():
			out = append(out, fmt.Sprintf("column %q numbers the rows: leave it out if it is no measurement", c.Name))
		case t.repeatsLabel(c):
			out = append(out, fmt.Sprintf("column %q has one value of its own for each class: it is the label in other words, and a metric that is learnt with it is worth nothing without", c.Name))
		case c.Words != nil:
			if n := len(categories(c.Words, allRows(t.rows))); n > manyWords && 2*n > t.rows {
				out = append(out, fmt.Sprintf("column %q holds %s in %s, each of which becomes a column: leave it out if they are names", c.Name, plural.Of(n, "different word"), plural.Of(t.rows, "row")))
			}
		}
	}
	return out
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
