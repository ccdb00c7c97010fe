package gallery

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// RecallOptions are for MeasureRecall.
type RecallOptions struct {
	Sample     int   // rows that are queries
	K          int   // neighbors of each
	Candidates []int // that a store is asked for, one measurement each
	Engine     eval.Engine
	// Progress, if set, is called with the number of rows that were compared.
	Progress func(done, total int)
}

// Recall says how many of the nearest rows are among a number of candidates.
type Recall struct {
	Candidates int     `json:"candidates"`
	Recall     float64 `json:"recall"` // share of the exact neighbors that are found
	Worst      float64 `json:"worst"`  // the same of the query that lost most
}

// MeasureRecall compares what Search finds in a store with the exact neighbors by its metric,
// of rows of the store as queries, which are themselves left out. The rows are those whose
// keys have the smallest hashes, so that the same gallery is measured by the same ones. A row
// as near as the last exact neighbor counts as one. All rows are read twice, and few are in
// memory at a time. queries is the number of queries.
func MeasureRecall(ctx context.Context, s Store, opt RecallOptions) (list []Recall, queries int, err error) {
	if opt.Sample < 1 || opt.K < 1 {
		return nil, 0, fmt.Errorf("a sample of %d rows and %d neighbors: want at least 1", opt.Sample, opt.K)
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return nil, 0, err
	}
	k := min(opt.K, stats.Rows-1)
	if k < 1 {
		return nil, 0, fmt.Errorf("the gallery has %d rows: there is nothing to compare", stats.Rows)
	}
	q, err := sample(ctx, s, opt.Sample)
	if err != nil {
		return nil, 0, err
	}
	m, err := metric.Parse(s.Info().Metric)
	if err != nil {
		return nil, 0, err
	}
	kth, err := exactRadii(ctx, s, q, m, k, stats.Rows, opt)
	if err != nil {
		return nil, 0, err
	}
	for _, n := range opt.Candidates {
		found, err := Search(ctx, s, q.Embeddings, s.Info(), k+1, SearchOptions{Candidates: n + 1})
		if err != nil {
			return nil, 0, err
		}
		r := Recall{Candidates: n, Worst: 1}
		for i, near := range found {
			hits := 0
			near = slices.DeleteFunc(near, func(x Match) bool { return x.Key == q.Keys[i] })
			for _, x := range near[:min(k, len(near))] {
				if x.Distance <= kth[i] {
					hits++
				}
			}
			share := float64(hits) / float64(k)
			r.Recall += share / float64(q.N)
			r.Worst = min(r.Worst, share)
		}
		list = append(list, r)
	}
	return list, q.N, nil
}

// sample is the rows whose keys have the smallest hashes.
func sample(ctx context.Context, s Store, n int) (*Table, error) {
	type drawn struct {
		hash uint64
		row  *Table
	}
	var best []drawn
	bound := uint64(math.MaxUint64)
	err := s.Scan(ctx, Filter{}, func(t *Table) error {
		for i, key := range t.Keys {
			h := fnv.New64a()
			h.Write([]byte(key))
			hash := h.Sum64()
			if hash <= bound {
				best = append(best, drawn{hash, t.Select([]int{i})})
			}
			if len(best) >= 3*n {
				slices.SortFunc(best, func(a, b drawn) int { return cmp.Compare(a.hash, b.hash) })
				best = slices.Clone(best[:n])
				bound = best[n-1].hash
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(best, func(a, b drawn) int { return cmp.Compare(a.hash, b.hash) })
	q := &Table{Embeddings: &eval.Embeddings{H: s.Info().Dim}}
	for _, d := range best[:min(n, len(best))] {
		q.X, q.N, q.Keys = append(q.X, d.row.X...), q.N+1, append(q.Keys, d.row.Keys[0])
	}
	return q, nil
}

// exactRadii is the distance of the k-th nearest row of each query, itself left out.
func exactRadii(ctx context.Context, s Store, q *Table, m metric.Metric, k, total int, opt RecallOptions) ([]float64, error) {
	nearest := make([][]float64, q.N)
	own := make(map[string]int, q.N)
	for i, key := range q.Keys {
		own[key] = i
	}
	done := 0
	err := s.Scan(ctx, Filter{}, func(t *Table) error {
		self := make([]int, q.N)
		for i := range self {
			self[i] = -1
		}
		for row, key := range t.Keys {
			if i, ok := own[key]; ok {
				self[i] = row
			}
		}
		for i := range nearest {
			nearest[i] = slices.Grow(nearest[i], k)
		}
		if err := distances(ctx, opt.Engine, q, t, m, k, self, nearest); err != nil {
			return err
		}
		for i := range nearest {
			slices.Sort(nearest[i])
			nearest[i] = nearest[i][:min(k, len(nearest[i]))]
		}
		done += t.N
		if opt.Progress != nil {
			opt.Progress(min(done, total), total)
		}
		return nil
	})
	kth := make([]float64, q.N)
	for i, list := range nearest {
		if len(list) > 0 {
			kth[i] = list[len(list)-1]
		}
	}
	return kth, err
}

// distances adds to each query's list those of its k nearest rows of a table, or of all if
// these are few.
func distances(ctx context.Context, eng eval.Engine, q, t *Table, m metric.Metric, k int, self []int, lists [][]float64) error {
	if t.N > k+1 {
		list, err := eval.Neighbors(ctx, eng, q.Embeddings, t.Embeddings, m, k, eval.SearchOptions{Self: self})
		if err != nil {
			return err
		}
		for i := range lists {
			_, distance := list.Of(i)
			lists[i] = append(lists[i], distance...)
		}
		return nil
	}
	for i := range lists {
		for row := range t.N {
			if row == self[i] {
				continue
			}
			d, err := eval.Distance(m, q.Row(i), t.Row(row))
			if err != nil {
				return err
			}
			lists[i] = append(lists[i], d)
		}
	}
	return nil
}
