package rerank

import (
	"context"
	"math"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// QueryExpansion searches with the mean of a query and its N nearest gallery rows, of
// weights 1 and s^Alpha, s being how similar a row is (Radenovic, Tolias and Chum 2018,
// Fine-tuning CNN image retrieval with no human annotation, Sect. 4.3): the cosine, or
// for a distance 1 - D^2/D0^2, D0 being the metric's value between unrelated rows of
// the query's length; nothing less than 0.
type QueryExpansion struct {
	// N is 10 and Alpha 3 in much of the field.
	N     int
	Alpha float64
}

// Retrieve ranks the gallery for every query.
func (e QueryExpansion) Retrieve(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, opt eval.RetrievalOptions) (*eval.Retrieval, error) {
	eng, done, err := eval.OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	search := opt.SearchOptions
	search.Groups, search.Progress = nil, nil // labels are not known to whoever searches
	mixed, err := e.expand(ctx, eng, queries, gallery, m, search)
	if err != nil {
		return nil, err
	}
	return eval.Retrieve(ctx, eng, mixed, gallery, m, opt)
}

// Nearest finds the count nearest rows of the expanded queries.
func (e QueryExpansion) Nearest(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, count int, opt eval.SearchOptions) (*eval.NeighborList, error) {
	eng, done, err := eval.OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	first := opt
	first.Progress = nil
	mixed, err := e.expand(ctx, eng, queries, gallery, m, first)
	if err != nil {
		return nil, err
	}
	list, err := eval.Neighbors(ctx, eng, mixed, gallery, m, count, opt)
	if err != nil {
		return nil, err
	}
	for q := range list.Queries {
		index, d := list.Of(q)
		for n, i := range index {
			if d[n], err = eval.Distance(m, queries.Row(q), gallery.Row(int(i))); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// expand makes the queries that are searched for.
func (e QueryExpansion) expand(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, opt eval.SearchOptions) (*eval.Embeddings, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	most := gallery.N
	if opt.Self != nil {
		most--
	}
	list, err := eval.Neighbors(ctx, eng, queries, gallery, m, min(e.N, most), opt)
	if err != nil {
		return nil, err
	}
	mixed := &eval.Embeddings{X: make([]float32, len(queries.X)), N: queries.N, H: queries.H, Labels: queries.Labels}
	for q := range queries.N {
		index, _ := list.Of(q)
		e.mix(mixed.Row(q), queries.Row(q), gallery, index, m)
	}
	return mixed, nil
}

// mix sets dst to the expanded query, of the query's own length.
func (e QueryExpansion) mix(dst, query []float32, gallery *eval.Embeddings, index []int32, m metric.Metric) {
	sum := make([]float64, len(query))
	for j, v := range query {
		sum[j] = float64(v)
	}
	for _, i := range index {
		w := math.Pow(similarity(m, query, gallery.Row(int(i))), e.Alpha)
		for j, v := range gallery.Row(int(i)) {
			sum[j] += w * float64(v)
		}
	}
	own, now := norm(query), 0.
	for _, v := range sum {
		now += v * v
	}
	by := 1.
	if now > 0 {
		by = own / math.Sqrt(now)
	}
	for j, v := range sum {
		dst[j] = float32(by * v)
	}
}

// similarity is the likeness of two rows, from 0 to 1.
func similarity(m metric.Metric, a, b []float32) float64 {
	s := m.Likeness(a, b)
	if !(s > 0) {
		return 0
	}
	return min(s, 1)
}

func norm(x []float32) float64 {
	sum := 0.
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
