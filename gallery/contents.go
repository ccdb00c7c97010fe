package gallery

import (
	"io"
	"slices"

	"github.com/vernier-ml/vernier/eval"
)

// contents is what is known of the rows of an index but for their numbers. Rows have their
// numbers of the file, also those that were removed. What is appended to the lists
// changes nothing before it, so that a list may be used while it grows.
type contents struct {
	blocks               []block // that were read
	keys, paths, classes []string
	gone                 []bool // the rows that were removed; replaced, not changed
	removed              int
	byKey, byPath        map[string]int32 // of the rows that count; nil until find
}

// follow reads the blocks of a state that it does not know yet. If those that it knows are
// not the first ones of the state, another file has taken the place of the one that was read,
// and all is read anew.
func (c *contents) follow(r io.ReaderAt, s *state) error {
	return c.learn(r, s, block.readTexts)
}

// verify is follow that reads the numbers of the rows too, and drops them.
func (c *contents) verify(r io.ReaderAt, s *state) error { return c.learn(r, s, block.verify) }

// learn is follow that reads a block by a function.
func (c *contents) learn(r io.ReaderAt, s *state, read func(b block, r io.ReaderAt, dim int) (texts, error)) error {
	if !c.begins(s) {
		*c = contents{}
	}
	copied := false
	for _, b := range s.list[len(c.blocks):] {
		t, err := read(b, r, s.Dim)
		if err != nil {
			*c = contents{}
			return damagedf("%w", err)
		}
		if len(t.removed) > 0 && !copied {
			c.gone, copied = slices.Clone(c.gone), true
		}
		for _, row := range t.removed {
			if c.gone[row] {
				*c = contents{}
				return damagedf("%w", b.damaged("they remove rows that are not there"))
			}
			c.gone[row] = true
			c.forget(int32(row))
		}
		c.removed += len(t.removed)
		for i := range t.keys {
			c.remember(t.keys[i], t.paths[i], int32(len(c.keys)+i))
		}
		c.keys, c.paths, c.classes = append(c.keys, t.keys...), append(c.paths, t.paths...), append(c.classes, t.classes...)
		c.gone = append(c.gone, make([]bool, b.rows)...)
		c.blocks = append(c.blocks, b)
	}
	return nil
}

// begins reports whether a state begins with the blocks that are known.
func (c *contents) begins(s *state) bool {
	n := len(c.blocks)
	return n <= len(s.list) && slices.Equal(s.list[:n], c.blocks)
}

func (c *contents) forget(row int32) {
	if c.byKey == nil {
		return
	}
	delete(c.byKey, c.keys[row])
	if c.byPath[c.paths[row]] == row {
		delete(c.byPath, c.paths[row])
	}
}

func (c *contents) remember(key, path string, row int32) {
	if c.byKey == nil {
		return
	}
	c.byKey[key] = row
	if path != "" {
		c.byPath[path] = row
	}
}

// find makes rows be found by their keys and paths.
func (c *contents) find() {
	if c.byKey != nil {
		return
	}
	n := len(c.keys) - c.removed
	c.byKey, c.byPath = make(map[string]int32, n), make(map[string]int32, n)
	for row, gone := range c.gone {
		if !gone {
			c.remember(c.keys[row], c.paths[row], int32(row))
		}
	}
}

// row is the row of a key, or -1.
func (c *contents) row(key string) int32 { return at(c.byKey, key) }

// rowAt is the row of a path, or -1.
func (c *contents) rowAt(path string) int32 {
	if path == "" {
		return -1
	}
	return at(c.byPath, path)
}

func at(m map[string]int32, key string) int32 {
	if row, ok := m[key]; ok {
		return row
	}
	return -1
}

// rows are those that count and that a filter lets through, ascending; nil if they are all
// of them.
func (c *contents) rows(where Filter) []int32 {
	if c.removed == 0 && where.Empty() {
		return nil
	}
	rows := make([]int32, 0, len(c.keys)-c.removed)
	pass := where.matcher()
	for row, gone := range c.gone {
		if !gone && pass(c.keys[row], c.paths[row], c.classes[row]) {
			rows = append(rows, int32(row))
		}
	}
	return rows
}

// table is the rows that count. It takes x, the numbers of all rows.
func (c *contents) table(info Info, x []float32) *Table {
	t := &Table{
		Embeddings: &eval.Embeddings{X: x, N: len(c.keys), H: info.Dim},
		Keys:       c.keys, Paths: c.paths, Classes: c.classes, Metric: info.Metric, Model: info.Model,
	}
	if c.removed == 0 {
		return t
	}
	n, h := 0, info.Dim
	for row, gone := range c.gone {
		if !gone {
			copy(x[n*h:], x[row*h:(row+1)*h])
			t.Keys[n], t.Paths[n], t.Classes[n] = t.Keys[row], t.Paths[row], t.Classes[row]
			n++
		}
	}
	t.Embeddings = &eval.Embeddings{X: x[: n*h : n*h], N: n, H: h}
	t.Keys, t.Paths, t.Classes = t.Keys[:n], t.Paths[:n], t.Classes[:n]
	return t
}
