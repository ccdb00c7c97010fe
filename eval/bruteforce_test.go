package eval

import (
	"cmp"
	"slices"

	"github.com/vernier-ml/vernier/metric"
)

// bruteOrder sorts the whole gallery for one query in float64.
func bruteOrder(m metric.Metric, x []float32, gallery *Embeddings, self int, place func(row int) uint64) (rows []int, keys []float64) {
	o, err := newOrder(m)
	if err != nil {
		panic(err)
	}
	type item struct {
		row int
		at  spot
	}
	var all []item
	for i := range gallery.N {
		if i != self {
			all = append(all, item{i, spot{o.exactKey(x, gallery.Row(i), norm(x), norm(gallery.Row(i))), place(i)}})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Or(a.at.compare(b.at), cmp.Compare(a.row, b.row)) })
	for _, i := range all {
		rows, keys = append(rows, i.row), append(keys, i.at.key)
	}
	return rows, keys
}

// bruteRetrieval is Retrieve by sorting.
func bruteRetrieval(m metric.Metric, queries, gallery *Embeddings, self []int, ties TieRule, seed uint64) *Retrieval {
	r := newRetrieval(queries, RetrievalOptions{Ties: ties})
	for q := range queries.N {
		s := -1
		if self != nil {
			s = self[q]
		}
		label := queries.Labels[q]
		order, _ := bruteOrder(m, queries.Row(q), gallery, s, func(row int) uint64 {
			return ties.place(seed, q, row, gallery.Labels[row] == label)
		})
		var ranks []int
		for at, row := range order {
			if gallery.Labels[row] == label {
				ranks = append(ranks, at+1)
			}
		}
		r.set(q, ranks, len(ranks))
	}
	return r
}
