package rerank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// KReciprocal orders rows by
//
//	(1 - Lambda) J + Lambda d/max d,
//
// d the squared distance from the query and J the Jaccard distance of two rows'
// k-reciprocal neighbors, weighted by exp(-d/max d) and averaged over the K2 nearest
// (Zhong, Zheng, Cao and Li 2017, Re-ranking person re-identification with k-reciprocal
// encoding, Eq. 2 to 12). Queries and gallery are neighbors of each other alike.
type KReciprocal struct {
	// K1 is how many nearest rows may be neighbors, K2 over how many the weights are
	// averaged, the row itself among them. The paper has 20 and 6, and 0.3 for Lambda.
	K1, K2 int
	Lambda float64
}

// sparse is a row of weights, by ascending row number.
type sparse struct {
	row    []int32
	weight []float64
}

// Retrieve ranks the gallery for every query.
func (k KReciprocal) Retrieve(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, opt eval.RetrievalOptions) (*eval.Retrieval, error) {
	eng, done, err := eval.OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	o, err := k.order(ctx, eng, queries, gallery, m, opt.SearchOptions)
	if err != nil {
		return nil, err
	}
	return eval.RetrieveBy(ctx, queries, gallery, opt, func(q int, dst []float64) error { return o.distances(ctx, q, dst) })
}

// Nearest finds the k nearest of the Candidates that the metric finds nearest. Their
// reciprocal neighbors are looked for among them and the query.
func (k KReciprocal) Nearest(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, count int, opt eval.SearchOptions) (*eval.NeighborList, error) {
	eng, done, err := eval.OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := eval.Neighbors(ctx, eng, queries, gallery, m, min(max(Candidates, count), gallery.N), opt)
	if err != nil {
		return nil, err
	}
	out := &eval.NeighborList{Queries: list.Queries, K: min(count, list.K)}
	for q := range list.Queries {
		index, d := list.Of(q)
		near := make([]int, len(index))
		for n, i := range index {
			near[n] = int(i)
		}
		one := &eval.Embeddings{X: queries.Row(q), N: 1, H: queries.H}
		o, err := k.order(ctx, eng, one, gallery.Select(near), m, opt)
		if err != nil {
			return nil, err
		}
		by, places := make([]float64, len(near)), make([]int, len(near))
		if err := o.distances(ctx, 0, by); err != nil {
			return nil, err
		}
		for n := range places {
			places[n] = n
		}
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(by[a], by[b]) })
		for n := range out.K {
			if n >= len(places) {
				out.Index, out.Distance = append(out.Index, -1), append(out.Distance, 0)
				continue
			}
			out.Index, out.Distance = append(out.Index, index[places[n]]), append(out.Distance, d[places[n]])
		}
		if opt.Progress != nil {
			opt.Progress(q+1, list.Queries)
		}
	}
	return out, nil
}

// order is the new order of a gallery for queries.
type order struct {
	lambda           float64
	metric           metric.Metric
	all              *eval.Embeddings
	first            int // row of the gallery among all
	values           *rows
	encoded, inverse []sparse
	spare            sync.Pool // of *work
}

func (k KReciprocal) order(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, opt eval.SearchOptions) (*order, error) {
	if err := k.validate(); err != nil {
		return nil, err
	}
	o := &order{lambda: k.Lambda, metric: m, all: gallery}
	if queries != gallery {
		o.all, o.first = joined(queries, gallery), queries.N
	}
	var err error
	if o.values, err = newRows(eng, o.all, o.all, m); err != nil {
		return nil, err
	}
	near, err := k.neighbors(ctx, eng, o.all, m, opt)
	if err != nil {
		return nil, err
	}
	if o.encoded, err = k.encode(ctx, o.all, near, o.values, m); err != nil {
		return nil, err
	}
	o.inverse = transposed(o.encoded)
	return o, nil
}

// distances sets dst to those of the gallery from a query.
func (o *order) distances(ctx context.Context, q int, dst []float64) error {
	row, err := o.values.of(ctx, q)
	if err != nil {
		return err
	}
	w, _ := o.spare.Get().(*work)
	if w == nil {
		w = &work{make([]float64, o.all.N), make([]float64, o.all.N)}
	}
	defer o.spare.Put(w)
	largest := spread(w.d, row, o.metric)
	clear(w.least)
	for n, i := range o.encoded[q].row {
		own := o.encoded[q].weight[n]
		for at, j := range o.inverse[i].row {
			w.least[j] += min(own, o.inverse[i].weight[at])
		}
	}
	for j := range dst {
		least := w.least[o.first+j]
		dst[j] = (1-o.lambda)*(1-least/(2-least)) + o.lambda*share(w.d[o.first+j], largest)
	}
	return nil
}

// work is what the distances of one query take: squared distances, and sums of the
// lesser weights, of all rows.
type work struct{ d, least []float64 }

// share is d in shares of the largest, 0 where all are 0.
func share(d, largest float64) float64 {
	if largest == 0 {
		return 0
	}
	return d / largest
}

func joined(a, b *eval.Embeddings) *eval.Embeddings {
	return &eval.Embeddings{X: slices.Concat(a.X, b.X), N: a.N + b.N, H: a.H}
}

// neighbors are, of each row, itself and its K1 nearest, nearest first.
func (k KReciprocal) neighbors(ctx context.Context, eng eval.Engine, all *eval.Embeddings, m metric.Metric, opt eval.SearchOptions) ([][]int32, error) {
	most := min(k.K1, all.N-1)
	search := eval.SearchOptions{Self: eval.LeaveOneOut(all.N), Memory: opt.Memory, Workers: opt.Workers}
	list, err := eval.Neighbors(ctx, eng, all, all, m, most, search)
	if err != nil {
		return nil, err
	}
	near := make([][]int32, all.N)
	for i := range near {
		index, _ := list.Of(i)
		near[i] = append(append(make([]int32, 0, most+1), int32(i)), index...)
	}
	return near, nil
}

// reciprocal appends the rows among the first n+1 neighbors of row i that have i among
// theirs.
func reciprocal(dst []int32, near [][]int32, i int32, n int) []int32 {
	own := near[i][:min(n+1, len(near[i]))]
	for _, j := range own {
		if slices.Contains(near[j][:min(n+1, len(near[j]))], i) {
			dst = append(dst, j)
		}
	}
	return dst
}

// encode computes the weights of all rows.
func (k KReciprocal) encode(ctx context.Context, all *eval.Embeddings, near [][]int32, values *rows, m metric.Metric) ([]sparse, error) {
	half := int(math.RoundToEven(float64(k.K1) / 2)) // as numpy rounds
	plain := make([]sparse, all.N)
	d := make([]float64, all.N)
	var own, other []int32
	for i := range plain {
		own = reciprocal(own[:0], near, int32(i), k.K1)
		wide := slices.Clone(own)
		for _, j := range own {
			other = reciprocal(other[:0], near, j, half)
			both := 0
			for _, o := range other {
				if slices.Contains(own, o) {
					both++
				}
			}
			if 3*both > 2*len(other) {
				wide = append(wide, other...)
			}
		}
		slices.Sort(wide)
		wide = slices.Compact(wide)
		row, err := values.of(ctx, i)
		if err != nil {
			return nil, err
		}
		largest := spread(d, row, m)
		s := sparse{row: wide, weight: make([]float64, len(wide))}
		sum := 0.
		for n, j := range wide {
			s.weight[n] = math.Exp(-share(d[j], largest))
			sum += s.weight[n]
		}
		for n := range s.weight {
			s.weight[n] /= sum
		}
		plain[i] = s
	}
	if k.K2 == 1 {
		return plain, nil
	}
	mean := make([]sparse, all.N)
	for i := range mean {
		mean[i] = average(plain, near[i][:min(k.K2, len(near[i]))])
	}
	return mean, nil
}

// average is the mean of the weights of some rows.
func average(of []sparse, rows []int32) sparse {
	sum := map[int32]float64{}
	for _, r := range rows {
		for n, j := range of[r].row {
			sum[j] += of[r].weight[n]
		}
	}
	var s sparse
	for j := range sum {
		s.row = append(s.row, j)
	}
	slices.SortFunc(s.row, cmp.Compare[int32])
	for _, j := range s.row {
		s.weight = append(s.weight, sum[j]/float64(len(rows)))
	}
	return s
}

// transposed lists for each row who has a weight on it.
func transposed(of []sparse) []sparse {
	t := make([]sparse, len(of))
	for i, s := range of {
		for n, j := range s.row {
			t[j].row = append(t[j].row, int32(i))
			t[j].weight = append(t[j].weight, s.weight[n])
		}
	}
	return t
}
