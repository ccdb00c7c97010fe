package gallery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/eval"
)

// Table is embeddings and what is known of their images.
type Table struct {
	*eval.Embeddings
	Paths   []string // of the images, N long, or nil
	Classes []string // the name of every row's class, N long, or nil
	Keys    []string // by which a Store knows the rows, N long, or nil: see RowKeys

	// Metric compares the rows, in the form of metric.Parse; Model is the
	// fingerprint of the model that made them, Data the images they are of. Each
	// may be empty: unknown.
	Metric, Model, Data string
}

// formats are in the order in which Read looks for them in a folder.
var formats = []string{"parquet", "safetensors", "npz", "npy", "csv"}

// Formats lists what Write writes and Read reads: the ends of files' names.
func Formats() []string { return slices.Clone(formats) }

// Validate reports the first thing that is wrong with a table.
func (t *Table) Validate() error {
	if err := t.Embeddings.Validate(); err != nil {
		return err
	}
	if t.Paths != nil && len(t.Paths) != t.N {
		return fmt.Errorf("%d paths for %d rows", len(t.Paths), t.N)
	}
	if t.Classes != nil && len(t.Classes) != t.N {
		return fmt.Errorf("%d classes for %d rows", len(t.Classes), t.N)
	}
	if t.Keys != nil && len(t.Keys) != t.N {
		return fmt.Errorf("%d keys for %d rows", len(t.Keys), t.N)
	}
	return nil
}

// Write writes a table as the end of the name says, as a whole or not at all.
//
//	.parquet      columns path, class, label and embedding (a list of float32)
//	.safetensors  embeddings (N, h) float32 and labels (N) int64; paths and
//	              classes, JSON arrays, in the metadata
//	.npz          embeddings, labels, paths and classes
//	.npy          the rows alone; NAME.labels.npy and NAME.paths.npy beside it, or
//	              labels.npy and paths.npy beside embeddings.npy
//	.csv          path, class, label, e0, e1, ...
//
// Columns that the table lacks are left out. Parquet, safetensors and .npz also
// say by which metric and model, and have a checksum of all this.
func Write(path string, t *Table) error {
	if !slices.Contains(formats, ending(path)) {
		return unknownEnding(path)
	}
	return WriteAs(path, ending(path), t)
}

// WriteAs is Write in a given format, one of Formats, whatever the name.
func WriteAs(path, format string, t *Table) error {
	if err := t.Validate(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	write, ok := map[string]func(string, *Table) error{
		"parquet": writeParquet, "safetensors": writeSafetensors, "npz": writeNPZ, "npy": writeNPY, "csv": writeCSVFile,
	}[format]
	if !ok {
		return fmt.Errorf("writing %s: unknown format %q (there is: %s)", path, format, strings.Join(formats, ", "))
	}
	return write(path, t)
}

// Read reads what Write wrote, and files of the same formats by others: of
// .parquet any with one column of lists of numbers, of .csv any with columns
// e0, e1, ... A folder is taken for one that vernier export wrote.
//
// What is read is compared with its checksums: in the file, in SHA256SUMS of its folder,
// and in FILE.sha256. With a folder every file of it is that SHA256SUMS lists. What differs,
// or is listed and missing, is an error; a file without a checksum is taken as it is.
func Read(path string) (*Table, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	folder := info.IsDir()
	if folder {
		if path, err = inFolder(path); err != nil {
			return nil, err
		}
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	read, ok := map[string]func(string) (*Table, error){
		"parquet": readParquet, "safetensors": readArrays, "npz": readArrays, "npy": readNPY, "csv": readCSV,
	}[ending(path)]
	if !ok {
		return nil, unknownEnding(path)
	}
	t, err := (*Table)(nil), checkSums(path, folder)
	if err == nil {
		t, err = read(path)
	}
	if err == nil {
		err = t.complete()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func inFolder(dir string) (string, error) {
	for _, f := range formats {
		path := filepath.Join(dir, "embeddings."+f)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("folder %s holds no file of embeddings: want embeddings.%s", dir, strings.Join(formats, ", ."))
}

func ending(path string) string { return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")) }

func unknownEnding(path string) error {
	return fmt.Errorf("%s is no name of a file of embeddings: want one that ends in .%s", path, strings.Join(formats, ", ."))
}

// complete numbers classes that have names only, and validates.
func (t *Table) complete() error {
	if t.Labels == nil && len(t.Classes) > 0 {
		names := slices.Clone(t.Classes)
		slices.Sort(names)
		names = slices.Compact(names)
		for _, c := range t.Classes {
			label, _ := slices.BinarySearch(names, c)
			t.Labels = append(t.Labels, label)
		}
	}
	return t.Validate()
}

// Select copies the given rows, in that order. The indices must be in range.
func (t *Table) Select(rows []int) *Table {
	s := &Table{Embeddings: t.Embeddings.Select(rows), Metric: t.Metric, Model: t.Model, Data: t.Data}
	for _, i := range rows {
		if t.Paths != nil {
			s.Paths = append(s.Paths, t.Paths[i])
		}
		if t.Classes != nil {
			s.Classes = append(s.Classes, t.Classes[i])
		}
		if t.Keys != nil {
			s.Keys = append(s.Keys, t.Keys[i])
		}
	}
	return s
}
