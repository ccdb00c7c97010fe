// Package pairtable reads tables of pairs of images: what verification is measured on, and
// what training on marks takes.
package pairtable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/internal/table"
)

// Pair is what a line says of two images.
type Pair struct {
	A, B int // indices into Table.Paths
	Same bool
	Line int // of the file
}

// Table is what a table says, with its other columns.
type Table struct {
	Paths   []string // of the images, each once, in the order of the file
	Pairs   []Pair
	Rows    [][]string     // of the pairs, by column
	Columns map[string]int // of a name in lower case
}

// wanted says what a table has to look like.
const wanted = "want a first line a,b,same and a pair a line: two paths, and 1 for the same or 0 for different"

// Read reads a table with the columns a and b, paths of images, and same: 1 or 0, true and
// false, same and different. Errors name the line. There may be no pairs, and a path may be
// empty.
func Read(text []byte) (*Table, error) {
	need := []string{"a", "b", "same"}
	t, err := table.Read(text, table.Options{Need: need})
	if errors.Is(err, table.ErrEmpty) {
		return nil, errors.New("the file is empty: " + wanted)
	}
	if err != nil {
		return nil, err
	}
	p := &Table{Rows: t.Rows, Columns: map[string]int{}}
	for i, name := range t.Names {
		p.Columns[strings.ToLower(name)] = i
	}
	for _, name := range need {
		if _, ok := p.Columns[name]; !ok {
			return nil, fmt.Errorf("line %d: %q has no column %q: %s", max(t.HeaderLine, 1), strings.Join(t.Names, ","), name, wanted)
		}
	}
	index := map[string]int{}
	image := func(path string) int {
		i, ok := index[path]
		if !ok {
			i = len(p.Paths)
			index[path] = i
			p.Paths = append(p.Paths, path)
		}
		return i
	}
	for i, row := range t.Rows {
		pair := Pair{A: image(row[p.Columns["a"]]), B: image(row[p.Columns["b"]]), Line: t.Lines[i]}
		if pair.Same, err = parseSame(row[p.Columns["same"]]); err != nil {
			return nil, fmt.Errorf("line %d: %w", pair.Line, err)
		}
		p.Pairs = append(p.Pairs, pair)
	}
	return p, nil
}

// ErrNoPairs says of a table that it has no line but the first.
var ErrNoPairs = errors.New("there are no pairs: " + wanted)

func parseSame(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "true", "same", "1.0", "1,0":
		return true, nil
	case "0", "false", "different", "0.0", "0,0":
		return false, nil
	}
	return false, fmt.Errorf("same is %q, want 1 or 0", text)
}
