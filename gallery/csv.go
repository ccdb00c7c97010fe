package gallery

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
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
// order. Others are passed over.
func readCSV(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	c, err := newColumns(header)
	if err != nil {
		return nil, err
	}
	t := &Table{Embeddings: &eval.Embeddings{H: len(c.numbers)}}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.take(t, row)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return t, readDescription(path, t)
}

// columns are the places of a table's columns.
type columns struct {
	path, class, label int // -1 for none
	numbers            []int
}

func newColumns(header []string) (*columns, error) {
	at := map[string]int{}
	for i, name := range header {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))] = i
	}
	find := func(name string) int {
		if i, ok := at[name]; ok {
			return i
		}
		return -1
	}
	c := &columns{path: find("path"), class: find("class"), label: find("label")}
	for {
		i := find("e" + strconv.Itoa(len(c.numbers)))
		if i < 0 {
			break
		}
		c.numbers = append(c.numbers, i)
	}
	if len(c.numbers) == 0 {
		return nil, errors.New("there is no column e0: want a header with e0, e1, ... for the numbers of an embedding")
	}
	return c, nil
}

// take adds a line to a table.
func (c *columns) take(t *Table, row []string) error {
	for j, i := range c.numbers {
		v, err := strconv.ParseFloat(strings.TrimSpace(row[i]), 32)
		if err != nil {
			return fmt.Errorf("e%d is %q, want a number", j, row[i])
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
