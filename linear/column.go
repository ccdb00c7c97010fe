package linear

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/table"
)

// rawColumn is a column as it was read.
type rawColumn struct {
	name     string
	unnamed  bool
	cells    []string // empty where there is no value
	declared table.Type
}

// rawColumns turns rows into columns.
func rawColumns(t *table.Table, opt ReadOptions) []rawColumn {
	gap := table.IsGap
	if opt.Missing != nil {
		gap = func(s string) bool {
			return slices.ContainsFunc(opt.Missing, func(m string) bool { return strings.EqualFold(m, s) })
		}
	}
	columns := make([]rawColumn, len(t.Rows[0]))
	for j := range columns {
		c := rawColumn{name: fmt.Sprintf("c%d", j+1), cells: make([]string, len(t.Rows))}
		if t.Names != nil {
			if c.unnamed = t.Names[j] == "" || pandasName.MatchString(t.Names[j]); !c.unnamed {
				c.name = t.Names[j]
			}
		}
		for i, row := range t.Rows {
			if !gap(row[j]) {
				c.cells[i] = row[j]
			}
		}
		if t.Types != nil {
			c.declared = t.Types[j]
		}
		if slices.Contains(opt.Categorical, c.name) {
			c.declared = table.Categories
		}
		columns[j] = c
	}
	return columns
}

// pandasName is what pandas calls a column without a name.
var pandasName = regexp.MustCompile(`^Unnamed: \d+$`)

// rowNames says, of a column that holds the numbers or the names of the rows, that
// it is left out; "" of another.
func (c rawColumn) rowNames(opt ReadOptions) string {
	switch {
	case !c.unnamed || opt.Label == c.name || c.declared != table.Undeclared:
		return ""
	case table.Counts(c.cells):
		return fmt.Sprintf("column %s of the file has no name and numbers the rows: it is left out", c.name[1:])
	case c.distinct():
		return fmt.Sprintf("column %s of the file has no name and another whole number or word in each row, as row names have: it is left out", c.name[1:])
	}
	return ""
}

// distinct reports whether the cells are whole numbers or words of which none comes
// back.
func (c rawColumn) distinct() bool {
	seen := make(map[string]bool, len(c.cells))
	for _, s := range c.cells {
		if k := table.KindOf(s); s == "" || k != table.Whole && k != table.Word || seen[s] {
			return false
		}
		seen[s] = true
	}
	return len(seen) > 1
}

// census counts the kinds of a column's cells and keeps the first of each.
type census struct {
	number, odd, word, gapWord int
	firstOdd, firstWord        int
}

// gapWords mean "no value" in a column that is of numbers otherwise.
var gapWords = regexp.MustCompile(`(?i)^(none|nil|\.|--|n\.a\.|missing)$`)

func (c rawColumn) census() census {
	var n census
	for i, s := range c.cells {
		switch k := table.KindOf(s); {
		case s == "":
		case k.Numeric():
			n.number++
		case k.Odd():
			if n.odd == 0 {
				n.firstOdd = i
			}
			n.odd++
		case gapWords.MatchString(s):
			n.gapWord++
		default:
			if n.word == 0 {
				n.firstWord = i
			}
			n.word++
		}
	}
	return n
}

// categorical reports whether the column is of categories: it is declared to be, or
// words outnumber what is meant as a number, of which there is none that is read.
func (n census) categorical(declared table.Type) bool {
	words := n.word + n.gapWord
	return declared == table.Categories || declared == table.Undeclared && n.number == 0 && words > 0 && n.word >= n.odd && words > n.odd
}

// ErrCell says that a cell is none of the numbers that its column seems to hold.
var ErrCell = errors.New("leave the column out, or name it categorical if its cells are codes")

// column is of numbers if every cell is one, of categories if none is or it was
// asked for. A mixture is an error that names the odd cell.
func (c rawColumn) column(lines []int) (Column, error) {
	n := c.census()
	if n.categorical(c.declared) {
		return Column{Name: c.name, Words: c.cells}, nil
	}
	if n.odd > 0 {
		return Column{}, c.oddCell(lines[n.firstOdd], c.cells[n.firstOdd])
	}
	if n.word > 0 {
		return Column{}, fmt.Errorf("line %d, column %q: %q is no number, as %d other cells of the column are; %w", lines[n.firstWord], c.name, c.cells[n.firstWord], n.number, ErrCell)
	}
	numbers := make([]float64, len(c.cells))
	for i, s := range c.cells {
		v, ok := table.Number(s)
		if !ok {
			v = math.NaN()
		}
		numbers[i] = v
	}
	return Column{Name: c.name, Numbers: numbers}, nil
}

// oddCell says what is wrong with a number that is written in a way that is not
// read, and how to write it.
func (c rawColumn) oddCell(line int, cell string) error {
	kind := table.KindOf(cell)
	advice := map[table.Kind]string{
		table.Infinite:  "numbers must be finite",
		table.Vanishing: "write 0, or scale the column",
		table.Grouped:   "write numbers without marks between thousands",
		table.Percent:   "write numbers without the sign",
		table.Money:     "write numbers without the currency",
		table.Date:      "write a number, such as days since a first one",
	}[kind]
	is := kind.String()
	if kind != table.Infinite && kind != table.Vanishing {
		is += ", which is not read"
	}
	return fmt.Errorf("line %d, column %q: %q is %s: %s, or %w", line, c.name, cell, strings.TrimPrefix(is, "is "), advice, ErrCell)
}

// leadingZero returns the first cell like 007, -1 if there is none.
func (c rawColumn) leadingZero() int {
	return slices.IndexFunc(c.cells, func(s string) bool {
		return len(s) > 1 && s[0] == '0' && table.KindOf(s) == table.Whole
	})
}

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
