package gallery

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// WriteCSV writes one row an image, readable by any spreadsheet: path, class
// and label, as far as the table has them, then e0 to e(h-1). Numbers have the
// nine digits that give a float32 back exactly.
func WriteCSV(w io.Writer, t *Table) error {
	c := csv.NewWriter(w)
	var line []string
	if t.Paths != nil {
		line = append(line, "path")
	}
	if t.Classes != nil {
		line = append(line, "class")
	}
	if t.Labels != nil {
		line = append(line, "label")
	}
	for j := range t.H {
		line = append(line, "e"+strconv.Itoa(j))
	}
	if err := c.Write(line); err != nil {
		return err
	}
	for i := range t.N {
		line = line[:0]
		if t.Paths != nil {
			line = append(line, t.Paths[i])
		}
		if t.Classes != nil {
			line = append(line, t.Classes[i])
		}
		if t.Labels != nil {
			line = append(line, strconv.Itoa(t.Labels[i]))
		}
		for _, v := range t.Row(i) {
			line = append(line, strconv.FormatFloat(float64(v), 'g', 9, 32))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func writeCSVFile(path string, t *Table) error {
	return wholefile.Write(path, func(w io.Writer) error { return WriteCSV(w, t) })
}

// readCSV reads columns path, class and label, in any place, and e0, e1, ... in
// any order. Others are passed over.
func readCSV(path string) (*Table, error) {
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseCSV(f)
	if err != nil {
		return nil, err
	}
	return t, readDescription(path, t)
}

func parseCSV(from io.Reader) (*Table, error) {
	r := csv.NewReader(from)
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, lineError(err)
	}
	c, err := newColumns(header)
	if err != nil {
		return nil, err
	}
	t := &Table{Embeddings: &eval.Embeddings{H: len(c.numbers)}}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, lineError(err)
		}
		if err := c.take(t, row); err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// lineError names the line of an error of the csv package, and what it means. Only a
// record that was read has a position of its own.
func lineError(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return err
	}
	why := p.Err.Error()
	switch {
	case errors.Is(p.Err, csv.ErrFieldCount):
		why = "it has another number of columns than the header"
	case errors.Is(p.Err, csv.ErrQuote):
		why = fmt.Sprintf("a quote without its counterpart, at line %d, byte %d", p.Line, p.Column)
	case errors.Is(p.Err, csv.ErrBareQuote):
		why = fmt.Sprintf("a quote within a text that does not begin with one, at byte %d", p.Column)
	}
	return fmt.Errorf("line %d: %s", p.StartLine, why)
}

// columns are the places of a table's columns.
type columns struct {
	path, class, label int // -1 for none
	numbers            []int
}

func newColumns(header []string) (*columns, error) {
	at := map[string]int{}
	if err := readable(header[0]); err != nil {
		return nil, err
	}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		_, number := numberOf(name)
		if _, twice := at[name]; twice && (number || slices.Contains([]string{pathColumn, classColumn, labelColumn}, name)) {
			return nil, fmt.Errorf("two columns are called %s", name)
		}
		at[name] = i
	}
	find := func(name string) int {
		if i, ok := at[name]; ok {
			return i
		}
		return -1
	}
	c := &columns{path: find(pathColumn), class: find(classColumn), label: find(labelColumn)}
	for {
		i := find("e" + strconv.Itoa(len(c.numbers)))
		if i < 0 {
			break
		}
		c.numbers = append(c.numbers, i)
	}
	if len(c.numbers) == 0 {
		if line := suggestHeader(header); line != "" {
			return nil, fmt.Errorf("there is no header: its first line is a row of numbers already; put a line %s above it", line)
		}
		return nil, errors.New("there is no column e0: want a header with e0, e1, ... for the numbers of an embedding, separated by commas")
	}
	for name := range at {
		if n, ok := numberOf(name); ok && n >= len(c.numbers) {
			return nil, fmt.Errorf("there is a column %s, but none is called e%d", name, len(c.numbers))
		}
	}
	return c, nil
}

// suggestHeader is the header that a first line which is a row lacks, "" if the line is no
// row: a text or none, perhaps a second, and numbers up to its end.
func suggestHeader(first []string) string {
	texts := 0
	for texts < len(first) {
		if _, err := strconv.ParseFloat(strings.TrimSpace(first[texts]), 64); err == nil {
			break
		}
		texts++
	}
	for _, cell := range first[texts:] {
		if _, err := strconv.ParseFloat(strings.TrimSpace(cell), 64); err != nil {
			return ""
		}
	}
	n := len(first) - texts
	if n == 0 || texts > 2 {
		return ""
	}
	names := append([]string{pathColumn, classColumn}[:texts], "e0")
	if n == 2 {
		names = append(names, "e1")
	} else if n > 2 {
		names = append(names, "e1,...,e"+strconv.Itoa(n-1))
	}
	return strings.Join(names, ",")
}

// numberOf is n of a column's name en.
func numberOf(name string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, "e")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && strconv.Itoa(n) == digits
}

// readable says why the first column's name is none, where another format or
// separator shows.
func readable(first string) error {
	switch {
	case strings.HasPrefix(first, "\xff\xfe"), strings.HasPrefix(first, "\xfe\xff"):
		return errors.New("the file is in UTF-16: save it as CSV in UTF-8")
	case strings.HasPrefix(strings.TrimPrefix(first, "\ufeff"), "sep="):
		return errors.New("the file begins with a line sep=: remove it")
	}
	for _, separator := range []string{";", "\t"} {
		if strings.Contains(first, separator) {
			return fmt.Errorf("the columns are separated by %q: save the file with commas between them and points in numbers", separator)
		}
	}
	return nil
}

// take adds a line to a table.
func (c *columns) take(t *Table, row []string) error {
	for j, i := range c.numbers {
		cell := strings.TrimSpace(row[i])
		v, err := strconv.ParseFloat(cell, 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(cell, "xX_") {
			return fmt.Errorf("e%d is %q, want a number", j, row[i])
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("e%d is %q, want a finite number of 32 bits", j, row[i])
		case v == 0 && strings.ContainsAny(mantissa(cell), "123456789"):
			return fmt.Errorf("e%d is %q, which is too small for a number of 32 bits: scale the embeddings", j, row[i])
		}
		t.X = append(t.X, float32(v))
	}
	t.N++
	if c.path >= 0 {
		t.Paths = append(t.Paths, strings.Clone(row[c.path]))
	}
	if c.class >= 0 {
		t.Classes = append(t.Classes, strings.Clone(row[c.class]))
	}
	if c.label >= 0 {
		label, err := strconv.Atoi(strings.TrimSpace(row[c.label]))
		if err != nil {
			return fmt.Errorf("label is %q, want a whole number", row[c.label])
		}
		t.Labels = append(t.Labels, label)
	}
	return nil
}

// mantissa is a number without its exponent.
func mantissa(number string) string {
	m, _, _ := strings.Cut(strings.ToLower(number), "e")
	return m
}
