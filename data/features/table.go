package features

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/table"
	"github.com/vernier-ml/vernier/weights"
)

// known reports whether a column of this name holds no number of a row.
func known(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.Contains(labelNames[:], name) || slices.Contains(otherNames[:], name)
}

// openTable reads a text table. Columns e0, e1, ... are the numbers of a row, or else
// all columns but those that are known by their names and those of words.
func (f *File) openTable() error {
	t, err := readTable(f.path)
	if err != nil {
		return err
	}
	if f.part != "" {
		return fmt.Errorf("the rows of a text table are all of its columns of numbers; %q cannot be chosen", f.part)
	}
	f.inside = t
	f.stored = weights.Float32
	numbers := t.numbers()
	if len(numbers) == 0 {
		return fmt.Errorf("there is no column of numbers (columns: %s)", strings.Join(t.names(), ", "))
	}
	f.rows, f.width = len(t.Rows), len(numbers)
	f.held = make([]float32, 0, f.rows*f.width)
	for i, row := range t.Rows {
		for _, j := range numbers {
			v, err := number(row[j])
			if err != nil {
				return fmt.Errorf("line %d: column %s: %w", t.Lines[i], t.name(j), err)
			}
			f.held = append(f.held, v)
		}
	}
	return nil
}

// number reads a cell. NaN and infinities are numbers here: CheckFinite names their
// rows.
func number(cell string) (float32, error) {
	switch k := table.KindOf(cell); {
	case k.Numeric() && k != table.Either:
		v, _ := table.Number(cell)
		return float32(v), nil
	case k == table.Vanishing:
		return 0, nil
	case k == table.Infinite || k == table.Gap && cell != "":
		if v, err := strconv.ParseFloat(cell, 32); err == nil || math.IsInf(v, 0) {
			return float32(v), nil
		}
	}
	return 0, fmt.Errorf("%q, want a number", cell)
}

// text is a table with the columns that Column reads.
type text struct{ *table.Table }

func readTable(path string) (text, error) {
	b, err := table.ReadFile(path)
	if err != nil {
		return text{}, err
	}
	t, err := table.Read(b, table.Options{})
	if err != nil {
		return text{}, err
	}
	return text{t}, nil
}

// name is that of a column, or its number from 1 on.
func (t text) name(j int) string {
	if t.Names != nil && t.Names[j] != "" {
		return t.Names[j]
	}
	return strconv.Itoa(j + 1)
}

func (t text) width() int {
	if len(t.Rows) == 0 {
		return 0
	}
	return len(t.Rows[0])
}

// names implements columns.
func (t text) names() []string {
	names := make([]string, t.width())
	for j := range names {
		names[j] = t.name(j)
	}
	return names
}

// numbers are the columns of a row's numbers.
func (t text) numbers() []int {
	var numbered, others []int
	for n := 0; ; n++ {
		j := slices.IndexFunc(t.Names, func(s string) bool { return strings.EqualFold(s, "e"+strconv.Itoa(n)) })
		if j < 0 {
			break
		}
		numbered = append(numbered, j)
	}
	if numbered != nil {
		return numbered
	}
	for j := range t.width() {
		unnamed := t.Names != nil && t.Names[j] == "" // the numbers of rows, as pandas writes them
		if unnamed && table.Counts(t.cells(j)) || t.Names != nil && known(t.Names[j]) || table.KindOf(t.Rows[0][j]) == table.Word {
			continue
		}
		others = append(others, j)
	}
	return others
}

func (t text) cells(j int) []string {
	cells := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		cells[i] = row[j]
	}
	return cells
}

// column implements columns.
func (t text) column(name string) (*Column, error) {
	j := slices.Index(t.names(), name)
	if j < 0 {
		return nil, unknown(name, t.names())
	}
	return columnOfCells(t.cells(j), func(i int) int { return t.Lines[i] })
}

// columnOfCells are whole numbers if every cell is one as Go writes it, else texts.
func columnOfCells(cells []string, line func(i int) int) (*Column, error) {
	if i := slices.Index(cells, ""); i >= 0 {
		return nil, fmt.Errorf("line %d: the value is empty", line(i))
	}
	ints := make([]int, len(cells))
	for i, c := range cells {
		v, err := strconv.Atoi(c)
		if err != nil || strconv.Itoa(v) != c {
			return &Column{Texts: cells}, nil
		}
		ints[i] = v
	}
	return &Column{Ints: ints}, nil
}

// lines is a text with one value a line and no header.
type lines []string

func (l lines) names() []string { return []string{"1"} }

func (l lines) column(name string) (*Column, error) {
	if name != "1" {
		return nil, unknown(name, l.names())
	}
	return columnOfCells(l, func(i int) int { return i + 1 })
}

// tableColumns reads the columns of a text table; one of .txt is lines, all of them.
// A table of one column has a header only if that is a usual name.
func tableColumns(path string) (columns, error) {
	b, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	content, _, err := table.Text(b)
	if err != nil {
		return nil, err
	}
	all := strings.Split(strings.TrimRight(content, "\n"), "\n")
	for i, l := range all {
		all[i] = strings.TrimSpace(l)
	}
	single := !slices.ContainsFunc(all, func(l string) bool { return strings.ContainsAny(l, ",;\t\"") })
	switch first := strings.ToLower(all[0]); {
	case strings.EqualFold(filepath.Ext(path), ".txt"), single && !slices.Contains(labelNames[:], first):
		return lines(all), nil
	}
	t, err := table.Read(b, table.Options{})
	if err != nil {
		return nil, err
	}
	return text{t}, nil
}
