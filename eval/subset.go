package eval

import (
	"fmt"
	"slices"
)

// subset is which rows of a gallery are searched.
type subset struct {
	rows []int32 // ascending; nil for all
	n    int     // rows of the gallery
}

func (r subset) check() error {
	for i, row := range r.rows {
		if row < 0 || int(row) >= r.n || i > 0 && row <= r.rows[i-1] {
			return fmt.Errorf("eval: row %d to be searched stands at place %d: rows ascend, from 0 to %d", row, i, r.n-1)
		}
	}
	return nil
}

func (r subset) len() int {
	if r.rows == nil {
		return r.n
	}
	return len(r.rows)
}

// at is the row of the gallery at a place.
func (r subset) at(place int) int32 {
	if r.rows == nil {
		return int32(place)
	}
	return r.rows[place]
}

// place is where a row of the gallery stands, or -1.
func (r subset) place(row int) int {
	if r.rows == nil {
		return max(row, -1)
	}
	if i, ok := slices.BinarySearch(r.rows, int32(row)); ok {
		return i
	}
	return -1
}

// part is the rows from one place to another, as a gallery with what opt says of them.
func (r subset) part(g *Embeddings, from, to int, opt SearchOptions) (*Embeddings, SearchOptions) {
	if r.rows == nil && from == 0 && to == g.N {
		return g, opt
	}
	var part *Embeddings
	if r.rows == nil {
		part = &Embeddings{X: g.X[from*g.H : to*g.H], N: to - from, H: g.H}
		if g.Labels != nil {
			part.Labels = g.Labels[from:to]
		}
	} else {
		rows := make([]int, to-from)
		for i := range rows {
			rows[i] = int(r.rows[from+i])
		}
		part = g.Select(rows)
	}
	if opt.Groups != nil {
		groups := make([]int, to-from)
		for i := range groups {
			groups[i] = opt.Groups.Gallery[r.at(from+i)]
		}
		opt.Groups = &Groups{opt.Groups.Queries, groups}
	}
	if opt.Self != nil {
		self := make([]int, len(opt.Self))
		for q, row := range opt.Self {
			if self[q] = r.place(row) - from; self[q] < 0 || self[q] >= to-from {
				self[q] = -1
			}
		}
		opt.Self = self
	}
	return part, opt
}
