package parquetfile

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vernier-ml/vernier/weights"
)

// Rows reads a column of Lists: n rows of h numbers, row-major, all lists equally
// long.
func (f *File) Rows(column *parquet.Column) (x []float32, n, h int, err error) {
	length := 0
	end := func() error {
		switch {
		case n == 0:
			return nil
		case n == 1:
			h = length
		case length != h:
			return fmt.Errorf("row %d has %d numbers, the first has %d", n-1, length, h)
		}
		return nil
	}
	err = f.Values(column, func(v parquet.Value) error {
		if v.RepetitionLevel() == 0 {
			if err := end(); err != nil {
				return err
			}
			n++
			length = 0
		}
		number, err := Number(v)
		if err != nil {
			return fmt.Errorf("row %d: %w", n-1, err)
		}
		x = append(x, number)
		length++
		return nil
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("column %s: %w", strings.Join(column.Path(), "."), err)
	}
	return x, n, h, nil
}

// Integer reads a whole number of a column.
func Integer(v parquet.Value) (int, error) {
	switch v.Kind() {
	case parquet.Int32:
		return int(v.Int32()), nil
	case parquet.Int64:
		return int(v.Int64()), nil
	}
	return 0, fmt.Errorf("%v is no whole number", v)
}

// Number reads a floating-point number of a column, of 16, 32 or 64 bits.
func Number(v parquet.Value) (float32, error) {
	switch v.Kind() {
	case parquet.Float:
		return v.Float(), nil
	case parquet.Double:
		return float32(v.Double()), nil
	case parquet.FixedLenByteArray:
		if b := v.ByteArray(); len(b) == 2 {
			var x [1]float32
			err := weights.Decode(x[:], b, weights.Float16)
			return x[0], err
		}
	}
	return 0, fmt.Errorf("%v is no floating-point number", v)
}

// isHalf reports whether a column holds numbers of 16 bits.
func isHalf(c *parquet.Column) bool {
	t := c.Type()
	if t.Kind() != parquet.FixedLenByteArray || t.Length() != 2 || t.LogicalType() == nil {
		return false
	}
	_, ok := t.LogicalType().Value.(*format.Float16Type)
	return ok
}
