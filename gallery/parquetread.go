package gallery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// readParquet reads columns path, class and label, and one column of lists of
// numbers: that called embedding, or the only one.
func readParquet(path string) (t *Table, err error) {
	// Files come from strangers, and a damaged one may trip the decoder.
	defer func() {
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("damaged parquet file: %v", r)
		}
	}()
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(f, info.Size()); err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(f, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("not a parquet file, or a damaged one: %w", err)
	}
	if err := checkPages(f, info.Size(), p); err != nil {
		return nil, err
	}
	t = &Table{Embeddings: &eval.Embeddings{}}
	for key, into := range map[string]*string{metricName: &t.Metric, modelName: &t.Model, dataName: &t.Data} {
		*into, _ = p.Lookup(metadataPrefix + key)
	}
	column, err := listColumn(p.Root())
	if err != nil {
		return nil, err
	}
	if err := t.readLists(p, column); err != nil {
		return nil, fmt.Errorf("column %s: %w", strings.Join(column.Path(), "."), err)
	}
	for name, take := range map[string]func(v parquet.Value) error{
		pathColumn:  func(v parquet.Value) error { t.Paths = append(t.Paths, string(v.ByteArray())); return nil },
		classColumn: func(v parquet.Value) error { t.Classes = append(t.Classes, string(v.ByteArray())); return nil },
		labelColumn: func(v parquet.Value) error {
			label, err := integer(v)
			t.Labels = append(t.Labels, label)
			return err
		},
	} {
		c := p.Root().Column(name)
		if c == nil || !c.Leaf() || c.Repeated() {
			continue
		}
		if text := c.Type().Kind() == parquet.ByteArray; text != (name != labelColumn) {
			continue // something else of that name
		}
		if err := readColumn(p, c.Index(), take); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	sum, _ := p.Lookup(metadataPrefix + checksumName)
	return t, t.verify(sum)
}

// checkFooter compares the size that the end of a file claims of its footer with that
// of the file, and the lengths that the footer claims with the footer, before memory of
// these sizes is allocated.
func checkFooter(f io.ReaderAt, size int64) error {
	const frame = 4 + 8 // the magic at the begin; size and magic at the end
	var tail [8]byte
	if size >= frame {
		if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
			return err
		}
	}
	if footer := int64(binary.LittleEndian.Uint32(tail[:])); string(tail[4:]) != "PAR1" || footer > size-frame {
		return errors.New("not a parquet file, or one that was cut")
	}
	footer := make([]byte, binary.LittleEndian.Uint32(tail[:]))
	if _, err := f.ReadAt(footer, size-int64(len(tail))-int64(len(footer))); err != nil {
		return err
	}
	if _, err := thriftLength(footer); err != nil {
		return fmt.Errorf("damaged parquet file: its footer: %w", err)
	}
	return nil
}

// listColumn finds the leaf that holds the numbers.
func listColumn(root *parquet.Column) (*parquet.Column, error) {
	var lists []*parquet.Column
	var names []string
	var walk func(c *parquet.Column)
	walk = func(c *parquet.Column) {
		if k := parquet.Boolean; c.Leaf() {
			k = c.Type().Kind()
			names = append(names, strings.Join(c.Path(), "."))
			if c.MaxRepetitionLevel() == 1 && (k == parquet.Float || k == parquet.Double) {
				lists = append(lists, c)
			}
			return
		}
		for _, sub := range c.Columns() {
			walk(sub)
		}
	}
	walk(root)
	if i := slices.IndexFunc(lists, func(c *parquet.Column) bool { return c.Path()[0] == embeddingColumn }); i >= 0 {
		return lists[i], nil
	}
	if len(lists) == 1 {
		return lists[0], nil
	}
	return nil, fmt.Errorf("there are %d columns of lists of numbers and none is called %s (columns: %s)", len(lists), embeddingColumn, strings.Join(names, ", "))
}

// readLists reads lists that all have the same length.
func (t *Table) readLists(p *parquet.File, column *parquet.Column) error {
	length := 0
	end := func() error {
		switch {
		case t.N == 0:
			return nil
		case t.N == 1:
			t.H = length
		case length != t.H:
			return fmt.Errorf("row %d has %d numbers, the first has %d", t.N-1, length, t.H)
		}
		return nil
	}
	err := readColumn(p, column.Index(), func(v parquet.Value) error {
		if v.RepetitionLevel() == 0 {
			if err := end(); err != nil {
				return err
			}
			t.N++
			length = 0
		}
		x, err := number(v)
		if err != nil {
			return fmt.Errorf("row %d: %w", t.N-1, err)
		}
		t.X = append(t.X, x)
		length++
		return nil
	})
	if err != nil {
		return err
	}
	return end()
}

// readColumn goes through the values of a column. A missing one is an error.
func readColumn(p *parquet.File, column int, take func(parquet.Value) error) error {
	row := -1
	values := make([]parquet.Value, 1024)
	for _, group := range p.RowGroups() {
		pages := group.ColumnChunks()[column].Pages()
		err := eachPage(pages, func(page parquet.Page) error {
			defer parquet.Release(page)
			reader := page.Values()
			for {
				n, err := reader.ReadValues(values)
				for _, v := range values[:n] {
					if v.RepetitionLevel() == 0 {
						row++
					}
					if v.IsNull() {
						return fmt.Errorf("row %d has no value", row)
					}
					if err := take(v); err != nil {
						return err
					}
				}
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
			}
		})
		if closing := pages.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func eachPage(pages parquet.Pages, do func(parquet.Page) error) error {
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
	}
}
