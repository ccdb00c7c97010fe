package gallery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/layers"
)

// Hit is a row of an index and its distance from a query.
type Hit struct {
	Row      int
	Distance float64 // as eval.Distance
}

// Search finds the k nearest rows of every query, nearest first and the lower
// row first among equals, exactly; fewer than k if there are fewer rows. info
// says which model made the queries; the error is ErrOtherModel if it is not
// that of the index.
func (x *Index) Search(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, opt eval.SearchOptions) ([][]Hit, error) {
	if err := x.same(info); err != nil {
		return nil, fmt.Errorf("%s: %w", x.path, err)
	}
	if k < 1 {
		return nil, fmt.Errorf("%d neighbours asked for, want at least 1", k)
	}
	if opt.Self != nil {
		return nil, fmt.Errorf("%s: a search in an index leaves no row out", x.path)
	}
	m, err := layers.ParseMetric(x.Metric)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.path, err)
	}
	hits := make([][]Hit, queries.N)
	for _, s := range x.segments {
		list, err := eval.Neighbors(ctx, eng, queries, s.Embeddings, m, min(k, s.N), opt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.path, err)
		}
		for q := range hits {
			index, distance := list.Of(q)
			for i, row := range index {
				hits[q] = append(hits[q], Hit{s.first + int(row), distance[i]})
			}
			slices.SortFunc(hits[q], func(a, b Hit) int {
				return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Row, b.Row))
			})
			hits[q] = hits[q][:min(k, len(hits[q]))]
		}
	}
	return hits, nil
}
