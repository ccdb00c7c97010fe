package gallery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// Changes says what became of rows that were given to a store.
type Changes struct {
	Added     int `json:"added"`     // the store had neither their key nor their path
	Replaced  int `json:"replaced"`  // it had, with other contents
	Unchanged int `json:"unchanged"` // it had them as they are
	Repeated  int `json:"repeated"`  // they have the key of another one that was given, which counts
}

// Distinct returns the rows of a table that count for a store, with their keys, and how many
// do not: of several rows with one key only the first does. Different rows of one path
// are an error. If all count and have keys, it is the table itself.
func Distinct(t *Table) (distinct *Table, repeated int, err error) {
	keys := t.RowKeys()
	seen, paths := make(map[string]bool, t.N), make(map[string]int, t.N)
	rows := make([]int, 0, t.N)
	for i, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		rows = append(rows, i)
		if path := t.Path(i); path != "" {
			if first, twice := paths[path]; twice {
				return nil, 0, fmt.Errorf("rows %d and %d are different images with one path, %s: a path names one image", first, i, nametext.Show(path))
			}
			paths[path] = i
		}
	}
	with := *t
	with.Keys = keys
	if len(rows) == t.N {
		return &with, 0, nil
	}
	return with.Select(rows), t.N - len(rows), nil
}

// plan is the change that gives the contents the rows of a table, which are distinct. A path
// or class that is empty leaves the known one. same reports whether a row of the contents has
// the given numbers.
func (c *contents) plan(t *Table, same func(row int32, x []float32) (bool, error)) (change, Changes, error) {
	c.find()
	var did Changes
	given := make(map[string]bool, t.N)
	for i := range t.N {
		given[t.Path(i)] = true
	}
	whole := *t
	whole.Paths, whole.Classes = make([]string, t.N), make([]string, t.N)
	remove := map[uint32]bool{}
	var add []int
	for i := range t.N {
		path, class := t.Path(i), t.Class(i)
		old, there := c.row(t.Keys[i]), c.rowAt(path)
		if old >= 0 && path == "" && !given[c.paths[old]] {
			path = c.paths[old]
		}
		for _, row := range []int32{old, there} {
			if row >= 0 {
				class = cmp.Or(class, c.classes[row])
			}
		}
		whole.Paths[i], whole.Classes[i] = path, class
		if old >= 0 && c.paths[old] == path && c.classes[old] == class {
			equal, err := same(old, t.Row(i))
			if err != nil {
				return change{}, did, err
			}
			if equal {
				did.Unchanged++
				continue
			}
		}
		add = append(add, i)
		for _, row := range []int32{old, there} {
			if row >= 0 {
				remove[uint32(row)] = true
			}
		}
		if old >= 0 || there >= 0 {
			did.Replaced++
		} else {
			did.Added++
		}
	}
	ch := change{add: &whole}
	if len(add) < t.N {
		ch.add = whole.Select(add)
	}
	for row := range remove {
		ch.remove = append(ch.remove, row)
	}
	slices.Sort(ch.remove)
	return ch, did, nil
}
