package features

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/weights"
)

// File is an open file of rows. Its methods may be called concurrently, except
// Close.
type File struct {
	path   string // as it was opened, without the part
	part   string // the array or column that holds the rows, "" if the file has one only
	rows   int
	width  int
	stored weights.DType

	mapped []byte // (rows, width) elements of stored, or nil
	unmap  func() error
	held   []float32 // (rows, width), where they are not mapped
	inside columns
	metric string
}

// columns are the other arrays or columns of a file.
type columns interface {
	// names are those of what Column may read.
	names() []string
	// column reads one of names.
	column(name string) (*Column, error)
}

// Open opens a file of rows. The name may choose the array or column that holds
// them: FILE:NAME.
func Open(name string) (*File, error) {
	path, part := split(name)
	f, err := open(path, part)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.rows == 0 || f.width == 0 {
		f.Close()
		return nil, fmt.Errorf("%s: %d rows of %d numbers: there is nothing in it", path, f.rows, f.width)
	}
	return f, nil
}

func open(path, part string) (*File, error) {
	kind, err := kindOf(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, part: part}
	switch kind {
	case parquetKind:
		err = f.openParquet()
	case tableKind:
		err = f.openTable()
	default:
		err = f.openArrays()
	}
	if err == nil && f.metric == "" {
		f.metric, err = besideMetric(path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// split cuts the part off a name, unless there is a file of the whole name.
func split(name string) (path, part string) {
	name = home.Expand(name)
	if _, err := os.Stat(name); err == nil {
		return name, ""
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 && !strings.ContainsRune(name[i:], filepath.Separator) {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// kind is what reads a file.
type kind int

const (
	arrayKind kind = iota
	parquetKind
	tableKind
)

// kindOf tells the kind of a file by its name: names of text tables vary, and their
// contents tell nothing.
func kindOf(path string) (kind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return 0, fmt.Errorf("this is a folder, want a file of rows")
	}
	switch ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))); ext {
	case ".npy", ".npz", ".safetensors", ".pt", ".pth", ".bin":
		return arrayKind, nil
	case ".parquet", ".pq":
		return parquetKind, nil
	case ".csv", ".tsv", ".txt", ".arff", ".dat", ".lst":
		return tableKind, nil
	default:
		return 0, fmt.Errorf("no name of a file of numbers that is read: want one that ends in .npy, .npz, .safetensors, .pt, .parquet, .csv, .tsv or .txt")
	}
}

// Path is the name of the file.
func (f *File) Path() string { return f.path }

// Rows is the number of rows.
func (f *File) Rows() int { return f.rows }

// Width is the number of numbers of a row.
func (f *File) Width() int { return f.width }

// DType is the type of the numbers in the file; Read converts them.
func (f *File) DType() weights.DType { return f.stored }

// Mapped reports whether the numbers stay in the file. Otherwise they take
// 4 * Rows * Width bytes of memory.
func (f *File) Mapped() bool { return f.held == nil }

// Close releases the file. Nothing may be read from it any more.
func (f *File) Close() error {
	f.held, f.mapped = nil, nil
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap = nil
	return unmap()
}

// Read converts rows from, from+1 and so on until dst is full; the length of dst must
// be a multiple of Width. Numbers of 64 bits are rounded to the nearest.
func (f *File) Read(dst []float32, from int) error {
	n := len(dst) / f.width
	if n*f.width != len(dst) || from < 0 || n > f.rows-from {
		return fmt.Errorf("%s: %d numbers from row %d on, of %d rows of %d numbers", f.path, len(dst), from, f.rows, f.width)
	}
	if f.held != nil {
		copy(dst, f.held[from*f.width:])
		return nil
	}
	size := f.width * f.stored.Bits() / 8
	return weights.Decode(dst, f.mapped[from*size:(from+n)*size], f.stored)
}

// Gather is Read of the given rows, in that order; dst must have room for them.
func (f *File) Gather(dst []float32, rows []int) error {
	if len(dst) != len(rows)*f.width {
		return fmt.Errorf("%s: room for %d numbers, %d rows have %d", f.path, len(dst), len(rows), len(rows)*f.width)
	}
	for i, r := range rows {
		if err := f.Read(dst[i*f.width:(i+1)*f.width], r); err != nil {
			return err
		}
	}
	return nil
}

// All reads every row: (Rows, Width), row-major. The result may share memory with
// the file and must not be changed; it must not be used after Close.
func (f *File) All() ([]float32, error) {
	if f.held != nil {
		return f.held, nil
	}
	x := make([]float32, f.rows*f.width)
	return x, f.Read(x, 0)
}

// CheckFinite reads every row and names those that hold NaN, an infinity, or a
// number beyond the range of float32.
func (f *File) CheckFinite() error {
	const block = 1024
	x := make([]float32, block*f.width)
	var bad []int
	place, value := 0, float32(0)
	for from := 0; from < f.rows; from += block {
		part := x[:min(block, f.rows-from)*f.width]
		if err := f.Read(part, from); err != nil {
			return err
		}
		for i, v := range part {
			if w := float64(v); !math.IsNaN(w) && !math.IsInf(w, 0) {
				continue
			}
			row := from + i/f.width
			if len(bad) == 0 {
				place, value = i%f.width, v
			}
			if len(bad) == 0 || bad[len(bad)-1] != row {
				bad = append(bad, row)
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	more := ""
	if n := len(bad) - 1; n > 0 {
		more = fmt.Sprintf("; so do %d other rows: %s", n, list(bad[1:]))
		if n == 1 {
			more = fmt.Sprintf("; so does row %d", bad[1])
		}
	}
	return fmt.Errorf("%s: row %d (counted from 0) holds %v in coordinate %d%s: numbers must be finite in 32 bits; remove these rows and their labels, or repair what made them",
		f.path, bad[0], value, place, more)
}

// list writes the first few of rows.
func list(rows []int) string {
	const shown = 5
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(rows[:min(shown, len(rows))]), " ", ", "), "[]")
	if len(rows) > shown {
		text += ", ..."
	}
	return text
}

// Columns are the names of what Column can read.
func (f *File) Columns() []string { return f.inside.names() }

// Column reads another array or column of the file, of one value a row.
func (f *File) Column(name string) (*Column, error) {
	c, err := f.inside.column(name)
	if err == nil && c.Len() != f.rows {
		err = fmt.Errorf("%q has %d values for %d rows", name, c.Len(), f.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return c, nil
}
