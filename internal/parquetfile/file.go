// Package parquetfile reads columns of parquet files by strangers. The library
// allocates what a file claims; here every claim is compared with the size of the
// file first, and a damaged file is an error.
package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// File is an open parquet file.
type File struct {
	*parquet.File
	closer *os.File
}

// Open opens a file and checks its footer and the headers of its pages.
func Open(path string) (f *File, err error) {
	src, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = guard(recover(), err); err != nil {
			src.Close()
			f = nil
		}
	}()
	info, err := src.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(src, info.Size()); err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(src, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("not a parquet file, or a damaged one: %w", err)
	}
	return &File{p, src}, checkPages(src, info.Size(), p)
}

// guard makes an error of a panic of the decoder, which a damaged file may cause.
func guard(panicked any, err error) error {
	if panicked != nil {
		return fmt.Errorf("damaged parquet file: %v", panicked)
	}
	return err
}

// Close closes the file.
func (f *File) Close() error { return f.closer.Close() }

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

// Leaves are the columns that hold values, also those within lists and structures.
func (f *File) Leaves() []*parquet.Column {
	var leaves []*parquet.Column
	var walk func(c *parquet.Column)
	walk = func(c *parquet.Column) {
		if c.Leaf() {
			leaves = append(leaves, c)
			return
		}
		for _, sub := range c.Columns() {
			walk(sub)
		}
	}
	walk(f.Root())
	return leaves
}

// Lists are the columns of lists of floating-point numbers, one list a row. names
// are those of all columns, for messages.
func (f *File) Lists() (lists []*parquet.Column, names []string) {
	for _, c := range f.Leaves() {
		names = append(names, strings.Join(c.Path(), "."))
		if k := c.Type().Kind(); c.MaxRepetitionLevel() == 1 && (k == parquet.Float || k == parquet.Double || isHalf(c)) {
			lists = append(lists, c)
		}
	}
	return lists, names
}

// Values goes through the values of a column. A missing one is an error.
func (f *File) Values(column *parquet.Column, take func(parquet.Value) error) (err error) {
	defer func() { err = guard(recover(), err) }()
	row := -1
	values := make([]parquet.Value, 1024)
	for _, group := range f.RowGroups() {
		pages := group.ColumnChunks()[column.Index()].Pages()
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
