package run

import (
	"slices"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

// sides divides rows of a set whose images have groups into queries and gallery, as
// re-identification is measured. gallery is nil where every image is both. Rows of
// other sets are all queries, and groups is nil.
func sides(items []data.Item, x *eval.Embeddings) (queries, gallery *eval.Embeddings, groups *eval.Groups) {
	if len(items) != x.N || !slices.ContainsFunc(items, func(it data.Item) bool { return it.Group > 0 }) {
		return x, nil, nil
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
		return x, nil, &eval.Groups{Queries: group, Gallery: group}
	}
	of := func(rows []int) []int {
		g := make([]int, len(rows))
		for i, r := range rows {
			g[i] = group[r]
		}
		return g
	}
	return x.Select(left), x.Select(right), &eval.Groups{Queries: of(left), Gallery: of(right)}
}
