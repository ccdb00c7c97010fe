package linear

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Table holds the rows of a file as they were read: numbers, categories and
// gaps. An Encoder turns them into a matrix.
type Table struct {
	Name    string
	Columns []Column
	// Labels holds the class of each row as an index of Classes, Unknown where
	// the cell is missing. Both are nil in a table without label column.
	Labels   []int
	Classes  []string // ascending
	rows     int
	lines    []int  // of the file, by row; nil if the table is of none
	labelled string // name of the label column
}

// Column is a column of numbers or of categories.
type Column struct {
	Name string
	// Numbers is n long, NaN where missing; nil for a column of categories.
	Numbers []float64
	// Words is n long, empty where missing; nil for a column of numbers.
	Words []string
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
	// line without any number for a header. Without one columns are c1, c2, ...
	Header Header
	// Categorical names columns whose numbers are codes, such as a post code.
	Categorical []string
	// Drop names columns to leave out.
	Drop []string
	// Comma separates cells; 0 means whichever of comma, semicolon and tab the
	// first line has most of.
	Comma rune
	// Missing lists the cells that mean "no value"; nil means the empty cell, ?,
	// NA, NaN, null and -.
	Missing []string
}

// defaultMissing are the cells that mean "no value", compared without case.
func defaultMissing() []string { return []string{"", "?", "na", "nan", "n/a", "null", "-"} }

// ReadTableFile reads a CSV file, compressed if its name ends in .gz.
func ReadTableFile(path string, opt ReadOptions) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		r = z
	}
	name := filepath.Base(path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), filepath.Ext(strings.TrimSuffix(name, ".gz")))
	t, err := ReadTable(r, name, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// ReadTable reads CSV text with LF or CRLF line ends. Errors name the line and
// the column.
func ReadTable(r io.Reader, name string, opt ReadOptions) (*Table, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	body := strings.TrimPrefix(string(text), "\ufeff")
	if opt.Comma == 0 {
		opt.Comma = guessComma(body)
	}
	c := csv.NewReader(strings.NewReader(body))
	c.Comma = opt.Comma
	c.TrimLeadingSpace = opt.Comma != '\t'
	var cells [][]string
	var lines []int
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			return nil, fmt.Errorf("line %d has %d cells, the first has %d", lineOf(c), len(row), len(cells[0]))
		}
		if err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		cells = append(cells, row)
		lines = append(lines, lineOf(c))
	}
	return assemble(name, cells, lines, opt)
}

func lineOf(c *csv.Reader) int {
	line, _ := c.FieldPos(0)
	return line
}

func guessComma(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	best, most := ',', strings.Count(first, ",")
	for _, c := range []rune{';', '\t'} {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

func assemble(name string, cells [][]string, lines []int, opt ReadOptions) (*Table, error) {
	if len(cells) == 0 {
		return nil, fmt.Errorf("no rows")
	}
	missing := opt.Missing
	if missing == nil {
		missing = defaultMissing()
	}
	gap := func(s string) bool {
		return slices.ContainsFunc(missing, func(m string) bool { return strings.EqualFold(m, s) })
	}
	names := make([]string, len(cells[0]))
	header := opt.Header == WithHeader || opt.Header == Auto && !slices.ContainsFunc(cells[0], isNumber)
	for j := range names {
		names[j] = fmt.Sprintf("c%d", j+1)
		if header {
			names[j] = cells[0][j]
		}
	}
	if header {
		if twice := repeated(names); twice != "" {
			return nil, fmt.Errorf("two columns are called %q", twice)
		}
		cells, lines = cells[1:], lines[1:]
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("there is a header but no row")
	}
	for _, list := range [][]string{opt.Categorical, opt.Drop} {
		for _, n := range list {
			if !slices.Contains(names, n) {
				return nil, fmt.Errorf("there is no column %q; there are %s", n, strings.Join(names, ", "))
			}
		}
	}
	t := &Table{Name: name, rows: len(cells), lines: lines}
	label, named, err := labelColumn(names, header, opt)
	if err != nil {
		return nil, err
	}
	for j, n := range names {
		column := make([]string, len(cells))
		for i, row := range cells {
			if !gap(row[j]) {
				column[i] = row[j]
			}
		}
		switch {
		case j == label:
			if !named && !areClasses(column) {
				return nil, fmt.Errorf("%w, and the last one, %q, holds no classes (words or whole numbers that come back): which is the label? There are %s", ErrNoLabel, n, strings.Join(names, ", "))
			}
			t.labelled = n
			t.setLabels(column)
		case slices.Contains(opt.Drop, n):
		default:
			c, err := newColumn(n, column, lines, slices.Contains(opt.Categorical, n))
			if err != nil {
				return nil, err
			}
			t.Columns = append(t.Columns, c)
		}
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("there is no column besides the label")
	}
	return t, nil
}

func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(v)
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
		switch v, err := strconv.ParseFloat(s, 64); {
		case s == "":
			continue
		case err != nil:
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
	t.Classes = []string{}
	for _, w := range words {
		if w != "" && !slices.Contains(t.Classes, w) {
			t.Classes = append(t.Classes, w)
		}
	}
	slices.Sort(t.Classes)
	t.Labels = make([]int, len(words))
	for i, w := range words {
		t.Labels[i] = Unknown
		if at, ok := slices.BinarySearch(t.Classes, w); ok {
			t.Labels[i] = at
		}
	}
}
