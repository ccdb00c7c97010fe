package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// Column is one value a row: whole numbers or texts.
type Column struct {
	Ints  []int    // nil if they are texts
	Texts []string // nil if they are numbers
}

// Len is the number of values.
func (c *Column) Len() int { return max(len(c.Ints), len(c.Texts)) }

// Text is value i as text.
func (c *Column) Text(i int) string {
	if c.Texts != nil {
		return c.Texts[i]
	}
	return strconv.Itoa(c.Ints[i])
}

// Classes numbers the distinct values from 0 on, in ascending order: texts by their
// bytes, numbers by their size. names are the values as text.
func (c *Column) Classes() (names []string, of []int) {
	of = make([]int, c.Len())
	if c.Texts != nil {
		names = distinct(c.Texts, of)
		return names, of
	}
	for _, v := range distinct(c.Ints, of) {
		names = append(names, strconv.Itoa(v))
	}
	return names, of
}

func distinct[T int | string](values []T, of []int) []T {
	all := slices.Compact(slices.Sorted(slices.Values(values)))
	at := make(map[T]int, len(all))
	for i, v := range all {
		at[v] = i
	}
	for i, v := range values {
		of[i] = at[v]
	}
	return all
}

// Usual names of arrays and columns, the likeliest first.
var (
	rowNames   = [...]string{"embedding", "embeddings", "features", "feature", "x", "vectors", "vector"}
	labelNames = [...]string{"class", "label", "labels", "classes", "target", "targets", "y"}
	otherNames = [...]string{"path", "paths", "name", "names", "id", "ids", "index", "group", "groups", "camera", "split", "is_query", "is_gallery", "category", "super_class", "metric", "model", "data", "checksum"}
)

// ReadColumn reads a file that holds one value a row, such as labels: an array of
// one dimension, a text with one value a line, or the column of a table that the
// name chooses (FILE:NAME), or whose name is one of class, label, target and y, or
// the only one.
func ReadColumn(name string) (*Column, error) {
	path, part := split(name)
	c, err := readColumn(path, part)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// FindColumn reads, of a file that ReadColumn takes, the column of the first of some names
// that it has, whatever part of it is named; nil if it has none of them.
func FindColumn(name string, of ...string) (*Column, error) {
	path, _ := split(name)
	inside, err := columnsOf(path)
	if err == nil {
		for _, n := range of {
			if slices.Contains(inside.names(), n) {
				c, err := inside.column(n)
				if err != nil {
					return nil, fmt.Errorf("%s: column %s: %w", path, n, err)
				}
				return c, nil
			}
		}
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

func readColumn(path, part string) (*Column, error) {
	inside, err := columnsOf(path)
	if err != nil {
		return nil, err
	}
	if part == "" {
		if part, err = choose(inside.names(), labelNames[:], "of labels"); err != nil {
			return nil, err
		}
	}
	return inside.column(part)
}

// columnsOf opens a file of columns.
func columnsOf(path string) (columns, error) {
	kind, err := kindOf(path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case parquetKind:
		return parquetColumns(path)
	case tableKind:
		return tableColumns(path)
	}
	return arrayColumns(path)
}

// LabelColumn reads the labels that lie in the file of the rows, under one of their
// usual names, or returns nil if there are none.
func (f *File) LabelColumn() (*Column, error) {
	for _, usual := range labelNames {
		for _, name := range f.Columns() {
			if strings.EqualFold(name, usual) {
				return f.Column(name)
			}
		}
	}
	return nil, nil
}

// choose finds the name that is meant where none is given.
func choose(names, usual []string, what string) (string, error) {
	if len(names) == 1 {
		return names[0], nil
	}
	for _, u := range usual {
		for _, n := range names {
			if strings.EqualFold(n, u) {
				return n, nil
			}
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("there is no array or column %s", what)
	}
	return "", fmt.Errorf("there are several arrays or columns (%s), and none is called %s: choose one as FILE:NAME", strings.Join(names, ", "), strings.Join(usual, ", "))
}

// unknown says that a part of a file is not there.
func unknown(name string, names []string) error {
	hint := ""
	if near, ok := nearest.Of(name, names); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("there is no array or column %q (there is: %s)%s", name, strings.Join(names, ", "), hint)
}
