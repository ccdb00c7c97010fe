package linear

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/internal/table"
)

// ErrDecimal says that a table does not tell its decimal mark.
var ErrDecimal = errors.New("the decimal mark must be said")

// cellAt is a cell and its place.
type cellAt struct {
	line         int
	column, text string
}

func (c *cellAt) String() string {
	return fmt.Sprintf("line %d, column %q: %q", c.line, c.column, c.text)
}

// decimalMark finds the mark of the numbers of all columns, which have one. wanted
// is the one that was asked for, or 0.
func decimalMark(columns []rawColumn, lines []int, wanted rune) (rune, error) {
	var point, comma, either *cellAt
	for _, c := range columns {
		n := c.census()
		if n.categorical(c.declared) || n.word > 0 {
			continue
		}
		for i, s := range c.cells {
			at := func(was *cellAt) *cellAt {
				if was != nil {
					return was
				}
				return &cellAt{lines[i], c.name, s}
			}
			switch table.KindOf(s) {
			case table.Point:
				point = at(point)
			case table.Comma:
				comma = at(comma)
			case table.Either:
				either = at(either)
			}
		}
	}
	switch {
	case wanted != 0 && wanted != '.' && wanted != ',':
		return 0, fmt.Errorf("decimal mark %q: want '.' or ','", wanted)
	case wanted == ',' && point != nil:
		return 0, fmt.Errorf("%v has a decimal point, but the decimal mark is the comma", point)
	case wanted == '.' && comma != nil:
		return 0, fmt.Errorf("%v has a decimal comma, but the decimal mark is the point", comma)
	case comma != nil && point != nil:
		return 0, fmt.Errorf("%v has a decimal comma, and %v a decimal point: write all numbers alike", comma, point)
	case either != nil && (point != nil || wanted == '.'):
		return 0, fmt.Errorf("%v has a comma between thousands: write numbers without", either)
	case either != nil && comma == nil && wanted == 0:
		return 0, fmt.Errorf("%v may be a number with a decimal comma, or have its comma between thousands: %w", either, ErrDecimal)
	case comma != nil || either != nil:
		return ',', nil
	}
	return '.', nil
}
