package features

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/internal/parquetfile"
	"github.com/vernier-ml/vernier/weights"
)

// openParquet takes the column of lists that is the part, the only one, or the one
// with a usual name; without lists, all columns of floating-point numbers.
func (f *File) openParquet() error {
	p, err := parquetfile.Open(f.path)
	if err != nil {
		return err
	}
	defer p.Close()
	f.stored = weights.Float32
	_, values := valueColumns(p)
	f.inside = parquetInside{f.path, values}
	f.metric, _ = p.Lookup("vernier.metric")
	lists, all := p.Lists()
	if len(lists) == 0 && f.part == "" {
		return f.flatParquet(p)
	}
	var names []string
	for _, c := range lists {
		names = append(names, c.Path()[0])
	}
	name := f.part
	if name == "" {
		if name, err = choose(names, rowNames[:], "of lists of numbers"); err != nil {
			return err
		}
	}
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("%q is no column of lists of numbers (columns: %s)", name, strings.Join(all, ", "))
	}
	f.held, f.rows, f.width, err = p.Rows(lists[i])
	return err
}

// flatParquet reads one number a column, as data frames have them.
func (f *File) flatParquet(p *parquetfile.File) error {
	var numbers []*parquet.Column
	for _, c := range p.Leaves() {
		if k := c.Type().Kind(); (k == parquet.Float || k == parquet.Double) && c.MaxRepetitionLevel() == 0 && !known(c.Name()) {
			numbers = append(numbers, c)
		}
	}
	if len(numbers) == 0 {
		_, all := p.Lists()
		return fmt.Errorf("no column holds lists of numbers, nor floating-point numbers (columns: %s)", strings.Join(all, ", "))
	}
	f.rows, f.width = int(p.NumRows()), len(numbers)
	var rows [][]float32
	for _, c := range numbers {
		var column []float32
		err := p.Values(c, func(v parquet.Value) error {
			x, err := parquetfile.Number(v)
			column = append(column, x)
			return err
		})
		if err == nil && len(column) != f.rows {
			err = fmt.Errorf("%d values for %d rows", len(column), f.rows)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name(), err)
		}
		rows = append(rows, column)
	}
	f.held = make([]float32, f.rows*f.width)
	for j, column := range rows {
		for i, x := range column {
			f.held[i*f.width+j] = x
		}
	}
	return nil
}

// parquetInside are the columns of one value a row of a parquet file.
type parquetInside struct {
	path string
	list []string
}

func parquetColumns(path string) (columns, error) {
	p, err := parquetfile.Open(path)
	if err != nil {
		return nil, err
	}
	_, names := valueColumns(p)
	return parquetInside{path, names}, p.Close()
}

func valueColumns(p *parquetfile.File) (cs []*parquet.Column, names []string) {
	for _, c := range p.Leaves() {
		switch c.Type().Kind() {
		case parquet.ByteArray, parquet.Int32, parquet.Int64, parquet.Boolean:
			if c.MaxRepetitionLevel() == 0 && len(c.Path()) == 1 {
				cs, names = append(cs, c), append(names, c.Name())
			}
		}
	}
	return cs, names
}

func (a parquetInside) names() []string { return a.list }

func (a parquetInside) column(name string) (*Column, error) {
	p, err := parquetfile.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	cs, names := valueColumns(p)
	i := slices.Index(names, name)
	if i < 0 {
		return nil, unknown(name, names)
	}
	c := &Column{}
	err = p.Values(cs[i], func(v parquet.Value) error {
		switch v.Kind() {
		case parquet.ByteArray:
			c.Texts = append(c.Texts, string(v.ByteArray()))
			return nil
		case parquet.Boolean:
			n := 0
			if v.Boolean() {
				n = 1
			}
			c.Ints = append(c.Ints, n)
			return nil
		}
		n, err := parquetfile.Integer(v)
		c.Ints = append(c.Ints, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return c, nil
}
