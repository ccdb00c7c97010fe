package linear

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/table"
)

// Table holds the rows of a file as they were read: numbers, categories and
// gaps. An Encoder turns them into a matrix.
type Table struct {
	Name    string
	Columns []Column
	// Labels holds the class of each row as an index of Classes, Unknown where
	// the cell is missing. Both are nil in a table without label column.
	Labels  []int
	Classes []string // ascending
	// Notes say how the file was understood where that is not plain: what was left
	// out, and which decimal mark and encoding it has.
	Notes   []string
	rows    int
	lines   []int  // of the file, by row; nil if the table is of none
	labeled string // name of the label column
}

// Column is a column of numbers or of categories.
type Column struct {
	Name string
	// Numbers is n long, NaN where missing; nil for a column of categories.
	Numbers []float64
	// Words is n long, empty where missing; nil for a column of numbers.
	Words []string
	code  *cellAt // a number with leading zeros, as codes have them; may be nil
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.rows }

// place says where a row stands: its line in the file, or its number.
func (t *Table) place(row int) string {
	if t.lines == nil {
		return fmt.Sprintf("row %d", row+1)
	}
	return fmt.Sprintf("line %d", t.lines[row])
}

// Header says whether a file has a line of column names.
type Header uint8

// What the first line of a file is.
const (
	Auto Header = iota
	WithHeader
	NoHeader
)

// ReadOptions say how a file is read.
type ReadOptions struct {
	// Label names the label column. Empty means the column "label", "class" or
	// "target", or if there is none the last one, if its cells are classes: words,
	// or whole numbers of which there are at most half as many as rows. Otherwise
	// it is an error. NoLabel reads all columns as features.
	Label   string
	NoLabel bool
	// Header says whether the first line names the columns. Auto takes a first
	// line without any number for a header, and one with a word above numbers.
	// Without one columns are c1, c2, ...
	Header Header
	// Categorical names columns whose numbers are codes, such as a post code.
	Categorical []string
	// Drop names columns to leave out.
	Drop []string
	// Comma separates cells; 0 means the one by which all lines have equally many:
	// a comma, a semicolon, a tab, a bar, or blanks.
	Comma rune
	// Decimal is the decimal mark of numbers, '.' or ','; 0 means the one that the
	// table has.
	Decimal rune
	// Missing lists the cells that mean "no value"; nil means the empty cell, ?,
	// NA, NaN, null, - and what else programs write for it.
	Missing []string
}

// ReadTableFile reads a text table: CSV in any of its forms, cells separated by
// blanks, or ARFF; it may be compressed by gzip.
func ReadTableFile(path string, opt ReadOptions) (*Table, error) {
	text, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	t, err := parse(text, strings.TrimSuffix(name, filepath.Ext(name)), opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// ReadTable is ReadTableFile for a reader. Errors name the line and the column.
func ReadTable(r io.Reader, name string, opt ReadOptions) (*Table, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parse(text, name, opt)
}

func parse(text []byte, name string, opt ReadOptions) (*Table, error) {
	cells, err := table.Read(text, table.Options{Separator: opt.Comma, Header: table.Header(opt.Header)})
	if errors.Is(err, table.ErrEmpty) {
		return nil, errors.New("no rows")
	}
	if err != nil {
		return nil, err
	}
	if len(cells.Rows) == 0 {
		return nil, errors.New("there is a header but no row")
	}
	return assemble(name, cells, opt)
}

func assemble(name string, cells *table.Table, opt ReadOptions) (*Table, error) {
	t := &Table{Name: name, rows: len(cells.Rows), lines: cells.Lines, Notes: cells.Notes}
	columns := rawColumns(cells, opt)
	columns = slices.DeleteFunc(columns, func(c rawColumn) bool {
		why := c.rowNames(opt)
		if why != "" {
			t.Notes = append(t.Notes, why)
		}
		return why != ""
	})
	names := make([]string, len(columns))
	for j, c := range columns {
		names[j] = c.name
	}
	if err := checkNames(names, opt); err != nil {
		return nil, err
	}
	label, named, err := labelColumn(names, cells.Names != nil, opt)
	if err != nil {
		return nil, err
	}
	var features []rawColumn
	for j, c := range columns {
		switch {
		case j == label:
			if !named && !areClasses(c.cells) {
				return nil, fmt.Errorf("%w, and the last one, %q, holds no classes (words or whole numbers that come back): which is the label? There are %s", ErrNoLabel, c.name, strings.Join(names, ", "))
			}
			t.labeled = c.name
			t.setLabels(c.cells)
		case !slices.Contains(opt.Drop, c.name):
			features = append(features, c)
		}
	}
	if len(features) == 0 {
		return nil, fmt.Errorf("there is no column besides the label")
	}
	return t, t.setColumns(features, cells.Lines, opt.Decimal)
}

// checkNames finds a column that comes twice, and options that name none.
func checkNames(names []string, opt ReadOptions) error {
	if twice := repeated(names); twice != "" {
		return fmt.Errorf("two columns are called %q", twice)
	}
	for _, list := range [][]string{opt.Categorical, opt.Drop} {
		for _, n := range list {
			if !slices.Contains(names, n) {
				return fmt.Errorf("there is no column %q; there are %s", n, strings.Join(names, ", "))
			}
		}
	}
	return nil
}

// setColumns turns cells into numbers and categories.
func (t *Table) setColumns(raw []rawColumn, lines []int, decimal rune) error {
	mark, err := decimalMark(raw, lines, decimal)
	if err != nil {
		return err
	}
	if mark == ',' {
		t.Notes = append(t.Notes, "numbers are read with decimal commas")
	}
	for _, c := range raw {
		column, err := c.column(lines)
		if err != nil {
			return err
		}
		if at := c.leadingZero(); at >= 0 && column.Numbers != nil {
			column.code = &cellAt{lines[at], c.name, c.cells[at]}
		}
		t.Columns = append(t.Columns, column)
	}
	return nil
}

func repeated(names []string) string {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return n
		}
		seen[n] = true
	}
	return ""
}

// ErrNoLabel says that nothing tells which column is the label.
var ErrNoLabel = errors.New("no column is called label, class or target")

// areClasses reports whether cells, of which the empty ones are gaps, are plainly
// classes and no measurements or names of rows.
func areClasses(cells []string) bool {
	seen, known := map[string]bool{}, 0
	for _, s := range cells {
		switch v, number := table.Number(s); {
		case s == "":
			continue
		case !number:
			return true // a word
		case v != math.Trunc(v):
			return false
		}
		seen[s] = true
		known++
	}
	return 2*len(seen) <= known
}

// labelColumn returns the index of the label column, -1 for none, and whether its
// name says that it is that.
func labelColumn(names []string, header bool, opt ReadOptions) (at int, named bool, err error) {
	if opt.NoLabel {
		return -1, false, nil
	}
	if opt.Label != "" {
		if i := slices.Index(names, opt.Label); i >= 0 {
			return i, true, nil
		}
		return 0, false, fmt.Errorf("there is no label column %q; there are %s", opt.Label, strings.Join(names, ", "))
	}
	if header {
		for _, want := range []string{"label", "class", "target"} {
			for i, n := range names {
				if strings.EqualFold(n, want) && !slices.Contains(opt.Drop, n) {
					return i, true, nil
				}
			}
		}
	}
	for at = len(names) - 1; at >= 0 && slices.Contains(opt.Drop, names[at]); at-- {
	}
	return at, false, nil
}

func (t *Table) setLabels(words []string) {
	t.Classes = distinctWords(words)
	t.Labels = make([]int, len(words))
	for i, w := range words {
		t.Labels[i] = Unknown
		if at, ok := slices.BinarySearch(t.Classes, w); ok {
			t.Labels[i] = at
		}
	}
}

// distinctWords lists the words that are not empty, ascending, each once. It is
// never nil.
func distinctWords(words []string) []string {
	out := slices.Sorted(slices.Values(words))
	out = slices.DeleteFunc(out, func(w string) bool { return w == "" })
	return append([]string{}, slices.Compact(out)...)
}
