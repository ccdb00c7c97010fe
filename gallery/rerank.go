package gallery

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Reranker finds neighbors in an order of its own, see package eval/rerank.
type Reranker interface {
	// Nearest finds the first count gallery rows of its order for every query, with
	// their distances by the metric.
	Nearest(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, count int, opt eval.SearchOptions) (*eval.NeighborList, error)
}

// SearchReranked is Search in the order of a way of re-ranking. Distances are those of
// the metric all the same, and need not rise.
func (t *Table) SearchReranked(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, way Reranker, opt eval.SearchOptions) ([][]Hit, error) {
	m, err := t.metricFor(info)
	if err != nil {
		return nil, err
	}
	if k < 1 || t.N < 1 {
		return nil, fmt.Errorf("%d neighbors asked for of %d rows, want at least 1", k, t.N)
	}
	list, err := way.Nearest(ctx, eng, queries, t.Embeddings, m, min(k, t.N), opt)
	if err != nil {
		return nil, err
	}
	return hitsOf(list), nil
}
