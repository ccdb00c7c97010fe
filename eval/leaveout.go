package eval

import (
	"fmt"
	"slices"
)

// Groups are the group of every query and of every gallery row.
type Groups struct{ Queries, Gallery []int }

func (g *Groups) validate(queries, gallery int) error {
	if g != nil && (len(g.Queries) != queries || len(g.Gallery) != gallery) {
		return fmt.Errorf("eval: groups of %d queries and %d gallery rows; there are %d and %d", len(g.Queries), len(g.Gallery), queries, gallery)
	}
	return nil
}

// divide puts the rows of a query's class that are ranked before those of its group,
// which are not.
func (g *Groups) divide(query int, rows []int32) (ranked, without []int32) {
	if g == nil {
		return rows, nil
	}
	for _, i := range rows {
		if g.Gallery[i] == g.Queries[query] {
			without = append(without, i)
		} else {
			ranked = append(ranked, i)
		}
	}
	return ranked, without
}

// leftOut returns what lists the gallery rows that have a query's label and group, in
// ascending order; nothing without groups.
func (g *Groups) leftOut(queries, gallery *Embeddings) func(query int) []int32 {
	if g == nil {
		return func(int) []int32 { return nil }
	}
	class, distinct := Compact(gallery.Labels)
	rows := members(class, len(distinct))
	return func(query int) []int32 {
		c, known := slices.BinarySearch(distinct, queries.Labels[query])
		if !known {
			return nil
		}
		_, without := g.divide(query, rows[c])
		return without
	}
}

// ofAll lists the groups of the queries and of the gallery behind them, where that is
// another set; nil without groups.
func (g *Groups) ofAll(gallery bool) []int {
	switch {
	case g == nil:
		return nil
	case gallery:
		return slices.Concat(g.Queries, g.Gallery)
	}
	return g.Queries
}
