package gallery

import "slices"

// Merge says how a store takes further rows, which are distinct: which of them it adds, with
// the paths and classes that it knows of them, and which of its own go for them. have are the
// rows of the store that have a key or path of theirs.
func Merge(have, t *Table) (add *Table, remove []int, did Changes, err error) {
	c := &contents{gone: make([]bool, have.N)}
	for i := range have.N {
		c.keys, c.paths, c.classes = append(c.keys, have.Keys[i]), append(c.paths, have.Path(i)), append(c.classes, have.Class(i))
	}
	plan, did, err := c.plan(t, func(row int32, x []float32) (bool, error) { return slices.Equal(have.Row(int(row)), x), nil })
	for _, row := range plan.remove {
		remove = append(remove, int(row))
	}
	return plan.add, remove, did, err
}
