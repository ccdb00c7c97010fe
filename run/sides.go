package run

import (
	"slices"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

// Sides are the rows of a set as they are searched. Of a set whose images have groups,
// such as cameras, these are the queries and the gallery of re-identification; of any
// other set every row is a query among all rows.
type Sides struct {
	Queries *eval.Embeddings
	Gallery *eval.Embeddings // nil where every row is on both sides
	Groups  *eval.Groups     // of both sides; nil in a set without groups
	// QueryRows and GalleryRows are the numbers in the set of the rows of each side.
	QueryRows, GalleryRows []int
}

// NewSides divides x, one row for each of items.
func NewSides(items []data.Item, x *eval.Embeddings) Sides {
	all := eval.LeaveOneOut(x.N)
	s := Sides{Queries: x, QueryRows: all, GalleryRows: all}
	if len(items) != x.N || !slices.ContainsFunc(items, func(it data.Item) bool { return it.Group > 0 }) {
		return s
	}
	// An image without a group is in one of its own, which leaves out itself.
	group := make([]int, x.N)
	var left, right []int
	for i, it := range items {
		if group[i] = it.Group; it.Group == 0 {
			group[i] = -1 - i
		}
		if it.Role != data.GalleryRole {
			left = append(left, i)
		}
		if it.Role != data.QueryRole {
			right = append(right, i)
		}
	}
	if len(left) == x.N && len(right) == x.N || len(left) == 0 || len(right) == 0 {
		s.Groups = &eval.Groups{Queries: group, Gallery: group}
		return s
	}
	of := func(rows []int) []int {
		g := make([]int, len(rows))
		for i, r := range rows {
			g[i] = group[r]
		}
		return g
	}
	return Sides{x.Select(left), x.Select(right), &eval.Groups{Queries: of(left), Gallery: of(right)}, left, right}
}

// Search returns the rows in which the queries are looked for, and what of them is left
// out.
func (s Sides) Search() (gallery *eval.Embeddings, opt eval.SearchOptions) {
	if s.Gallery == nil {
		return s.Queries, eval.SearchOptions{Self: eval.LeaveOneOut(s.Queries.N), Groups: s.Groups}
	}
	return s.Gallery, eval.SearchOptions{Groups: s.Groups}
}

// Both are the rows of both sides, the queries first, as eval.Evaluate measures
// distances on them, with their numbers in the set and their groups, nil without any.
func (s Sides) Both() (x *eval.Embeddings, rows, groups []int) {
	switch {
	case s.Gallery != nil:
		x = &eval.Embeddings{X: slices.Concat(s.Queries.X, s.Gallery.X), N: s.Queries.N + s.Gallery.N, H: s.Queries.H, Labels: slices.Concat(s.Queries.Labels, s.Gallery.Labels)}
		return x, slices.Concat(s.QueryRows, s.GalleryRows), slices.Concat(s.Groups.Queries, s.Groups.Gallery)
	case s.Groups != nil:
		groups = s.Groups.Queries
	}
	return s.Queries, s.QueryRows, groups
}
