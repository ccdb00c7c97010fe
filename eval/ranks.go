package eval

import (
	"context"

	"github.com/vernier-ml/vernier/comm"
)

// onRanks calls f with the queries that this rank takes, where it takes some, with the
// options of their search, and with the number of the first. Of several ranks none stops
// within a search, and all stop behind it.
func (s SearchOptions) onRanks(ctx context.Context, queries *Embeddings, f func(ctx context.Context, part *Embeddings, its SearchOptions, first int) error) error {
	c := comm.OrSingle(s.Comm)
	if c.Size() == 1 {
		return f(ctx, queries, s, 0)
	}
	if first, end := comm.Share(queries.N, c.Rank(), c.Size()); first < end {
		part, its := s.share(queries, first, end)
		if err := f(context.WithoutCancel(ctx), part, its, first); err != nil {
			return err
		}
	}
	return comm.Stopped(ctx, c)
}

// share returns the queries from first to end, less one, and the options of their search.
func (s SearchOptions) share(queries *Embeddings, first, end int) (*Embeddings, SearchOptions) {
	n, h := end-first, queries.H
	part := &Embeddings{X: queries.X[first*h : end*h], N: n, H: h}
	if queries.Labels != nil {
		part.Labels = queries.Labels[first:end]
	}
	if s.Comm = nil; s.Self != nil {
		s.Self = s.Self[first:end]
	}
	if s.Groups != nil {
		s.Groups = &Groups{s.Groups.Queries[first:end], s.Groups.Gallery}
	}
	if all := s.Progress; all != nil {
		s.Progress = func(done, _ int) { all(done*queries.N/n, queries.N) }
	}
	return part, s
}

// gather gives every rank the figures of all queries.
func (r *Retrieval) gather(c comm.Comm, tied []bool) (_ []bool, err error) {
	if c.Size() == 1 {
		return tied, nil
	}
	if tied, err = comm.Concat(c, tied); err != nil {
		return nil, err
	}
	ranks := make([]int64, len(r.FirstRank))
	for q, rank := range r.FirstRank {
		ranks[q] = int64(rank)
	}
	if ranks, err = comm.Concat(c, ranks); err != nil {
		return nil, err
	}
	r.FirstRank = make([]int, len(ranks))
	for q, rank := range ranks {
		r.FirstRank[q] = int(rank)
	}
	if r.RPrecision == nil {
		return tied, nil
	}
	for _, x := range []*[]float64{&r.RPrecision, &r.AveragePrecisionAtR, &r.AveragePrecision, &r.TrapezoidPrecision} {
		if *x, err = comm.Concat(c, *x); err != nil {
			return nil, err
		}
	}
	return tied, nil
}

// gather gives every rank the neighbors of all queries.
func (l *NeighborList) gather(c comm.Comm, queries int) (err error) {
	if l.Index, err = comm.Concat(c, l.Index); err != nil {
		return err
	}
	l.Distance, err = comm.Concat(c, l.Distance)
	l.Queries = queries
	return err
}
