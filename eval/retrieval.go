package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// RetrievalOptions says how Retrieve ranks. The zero value is pessimistic and
// ranks every right answer.
type RetrievalOptions struct {
	SearchOptions
	Ties TieRule
	Seed uint64 // of RandomOrder
	// FirstOnly stops at the first right answer: enough for Recall@K,
	// precision at 1 and MRR, and faster with large classes.
	FirstOnly bool
}

// Retrieval holds, for every query, where its right answers (gallery rows of
// its label, itself left out) stand in the order of the whole gallery. A lone
// query has none: it counts as a miss in RecallAt and is left out of every
// other average, as in pytorch-metric-learning.
type Retrieval struct {
	Ties TieRule
	// FirstRank is the 1-based rank of the first right answer, -1 for a lone query.
	FirstRank []int
	// With R right answers at ranks r_1 < ... < r_R, the first of R ranks
	// being those that count: RPrecision = #{r_i <= R}/R, AveragePrecisionAtR =
	// 1/R sum over r_i <= R of i/r_i, AveragePrecision = 1/R sum of i/r_i.
	// 0 for lone queries. nil with FirstOnly.
	RPrecision, AveragePrecisionAtR, AveragePrecision []float64
	// TrapezoidPrecision is the average precision of the code that goes with
	// Market-1501 (Zheng et al. 2015, after Philbin et al. 2007): the area below
	// precision by recall, by the trapezoidal rule, 1/R sum of (p_i + i/r_i)/2 with
	// p_i = (i-1)/(r_i-1) the precision just before the answer, 1 at the first rank.
	TrapezoidPrecision []float64
	// Lone counts the queries without any right answer.
	Lone int
	// Tied counts the queries whose nearest right answer is at exactly the
	// distance of a wrong one: only these depend on the tie rule at rank 1.
	Tied   int
	labels []int // of the queries
}

// Retrieve ranks the gallery for every query. Both need labels. It is an error
// if no query has a right answer.
func Retrieve(ctx context.Context, eng Engine, queries, gallery *Embeddings, m metric.Metric, opt RetrievalOptions) (*Retrieval, error) {
	if queries != nil && queries.Distances != nil {
		return RetrieveBy(ctx, queries, gallery, opt, func(query int, dst []float64) error {
			queries.Distances(dst, queries.Row(query), gallery.X)
			return nil
		})
	}
	eng, done, err := OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := opt.checkLabeled(queries, gallery); err != nil {
		return nil, err
	}
	r := newRetrieval(&Embeddings{}, opt)
	var tied []bool
	err = opt.onRanks(ctx, queries, func(ctx context.Context, part *Embeddings, its SearchOptions, first int) (err error) {
		own := opt
		own.SearchOptions = its
		r, tied, err = retrieve(ctx, eng, part, gallery, m, own, first)
		return err
	})
	if err != nil {
		return nil, err
	}
	if tied, err = r.gather(comm.OrSingle(opt.Comm), tied); err != nil {
		return nil, err
	}
	r.labels = queries.Labels
	return r, r.count(tied, opt.Groups != nil)
}

// checkLabeled reports what is wrong with rows that are to be ranked.
func (opt RetrievalOptions) checkLabeled(queries, gallery *Embeddings) error {
	if err := errors.Join(queries.ValidateLabeled(), gallery.ValidateLabeled()); err != nil {
		return err
	}
	if int(opt.Ties) >= len(tieNames) {
		return fmt.Errorf("eval: unknown tie rule %d, the last is %d (%v)", opt.Ties, RandomOrder, RandomOrder)
	}
	return opt.check(queries, gallery)
}

// retrieve ranks the gallery for queries, the first of which has the number first. tied are
// those at whose nearest right answer a wrong one lies.
func retrieve(ctx context.Context, eng Engine, queries, gallery *Embeddings, m metric.Metric, opt RetrievalOptions, first int) (r *Retrieval, tied []bool, err error) {
	class, distinct := Compact(gallery.Labels)
	rows := members(class, len(distinct))
	rightOf := func(q int) (c int, right []int32) {
		c, known := slices.BinarySearch(distinct, queries.Labels[q])
		if !known {
			return -1, nil
		}
		return c, rows[c]
	}
	s, j, err := prepare(eng, queries, gallery, m, opt.SearchOptions, cuts{right: func(q int) []int32 {
		_, right := rightOf(q)
		right, _ = opt.Groups.divide(q, right)
		return right
	}, firstOnly: opt.FirstOnly})
	if err != nil {
		return nil, nil, err
	}
	r = newRetrieval(queries, opt)
	tied = make([]bool, queries.N)
	rankers := make([]*ranker, opt.workers())
	for w := range rankers {
		rankers[w] = &ranker{bench: j.bench(), find: s.find, class: class, ties: opt.Ties, seed: opt.Seed, first: first, firstOnly: opt.FirstOnly, windows: maxWindows}
	}
	visit := func(rk *ranker, q int, keys []float32) error {
		c, right := rightOf(q)
		right, rk.without = opt.Groups.divide(q, right)
		if right == nil {
			r.set(q, nil, 0)
			return nil
		}
		self := opt.self(q)
		ranks, tie, err := rk.rank(q, self, c, right, keys)
		if err != nil {
			return err
		}
		of := len(right)
		if self >= 0 && class[self] == c && !slices.Contains(rk.without, int32(self)) {
			of--
		}
		tied[q] = tie
		r.set(q, ranks, of)
		return nil
	}
	if s.device != nil && opt.Groups == nil {
		err = s.ranksOnDevice(ctx, rankers, rightOf, visit)
	} else {
		err = s.each(ctx, func(worker, q int, keys []float32) error { return visit(rankers[worker], q, keys) })
	}
	return r, tied, err
}

func newRetrieval(queries *Embeddings, opt RetrievalOptions) *Retrieval {
	r := &Retrieval{Ties: opt.Ties, FirstRank: make([]int, queries.N), labels: queries.Labels}
	if !opt.FirstOnly {
		r.RPrecision = make([]float64, queries.N)
		r.AveragePrecisionAtR = make([]float64, queries.N)
		r.AveragePrecision = make([]float64, queries.N)
		r.TrapezoidPrecision = make([]float64, queries.N)
	}
	return r
}

// set stores a query's figures from the ranks of its right answers, of of them.
func (r *Retrieval) set(q int, ranks []int, of int) {
	if len(ranks) == 0 {
		r.FirstRank[q] = -1
		return
	}
	r.FirstRank[q] = ranks[0]
	if r.RPrecision == nil {
		return
	}
	var within, atR, all, area float64
	for i, rank := range ranks {
		precision := float64(i+1) / float64(rank)
		all += precision
		before := 1.
		if rank > 1 {
			before = float64(i) / float64(rank-1)
		}
		area += (before + precision) / 2
		if rank <= of {
			within++
			atR += precision
		}
	}
	r.RPrecision[q] = within / float64(of)
	r.AveragePrecisionAtR[q] = atR / float64(of)
	r.AveragePrecision[q] = all / float64(of)
	r.TrapezoidPrecision[q] = area / float64(of)
}

func (r *Retrieval) count(tied []bool, grouped bool) error {
	for q, rank := range r.FirstRank {
		if rank < 0 {
			r.Lone++
		}
		if tied[q] {
			r.Tied++
		}
	}
	switch {
	case r.Lone < len(r.FirstRank):
	case grouped:
		return fmt.Errorf("eval: none of the %d queries has a sample of its class in another group: "+
			"those of its own group are left out, give classes with samples of two groups", r.Lone)
	default:
		return fmt.Errorf("eval: none of the %d queries has another sample of its class in the gallery: "+
			"give classes with at least two images, or a gallery that holds the queries' classes", r.Lone)
	}
	return nil
}

// Queries is the number of queries, lone ones included.
func (r *Retrieval) Queries() int { return len(r.FirstRank) }

// RecallAt is the percentage of ALL queries with a right answer among the k
// nearest, lone queries being misses: Recall@K as most papers compute it. k
// beyond the gallery means the whole gallery.
func (r *Retrieval) RecallAt(k int) float64 { return 100 * r.hits(k) / float64(r.Queries()) }

// RecallAtWithoutLone is RecallAt over the queries that have a right answer.
func (r *Retrieval) RecallAtWithoutLone(k int) float64 {
	return 100 * r.hits(k) / float64(r.Queries()-r.Lone)
}

func (r *Retrieval) hits(k int) float64 {
	n := 0
	for _, rank := range r.FirstRank {
		if rank >= 1 && rank <= k {
			n++
		}
	}
	return float64(n)
}

// Averages are means over queries that are not lone, from 0 to 1. All but
// PrecisionAt1 and MRR are 0 with FirstOnly.
type Averages struct {
	PrecisionAt1 float64 // the nearest is right
	RPrecision   float64 // right ones among the R nearest, over R
	MAPAtR       float64 // mean average precision at R
	MAP          float64 // mean average precision over the whole ranking
	MRR          float64 // mean of 1/FirstRank
}

// Averages is the mean over queries.
func (r *Retrieval) Averages() Averages {
	var sum sumOf
	for q := range r.FirstRank {
		sum.add(r.query(q))
	}
	return sum.mean()
}

// TrapezoidMAP is the mean of TrapezoidPrecision over queries that are not lone,
// from 0 to 1.
func (r *Retrieval) TrapezoidMAP() float64 {
	var sum float64
	for _, v := range r.TrapezoidPrecision {
		sum += v
	}
	return sum / float64(max(r.Queries()-r.Lone, 1))
}

// ClassAverages is the mean over classes of the class means, which gives a
// small class the weight of a large one.
func (r *Retrieval) ClassAverages() Averages {
	var sum sumOf
	_, means, counts := r.PerClass()
	for c, a := range means {
		sum.add(a, counts[c] > 0)
	}
	return sum.mean()
}

// PerClass returns the queries' labels in ascending order, the means of each,
// and how many queries each has that are not lone.
func (r *Retrieval) PerClass() (labels []int, means []Averages, counts []int) {
	means, counts, labels = r.GroupAverages(r.labels)
	return labels, means, counts
}

// GroupAverages is PerClass for any grouping of the queries, such as
// super-classes; group is Queries() long.
func (r *Retrieval) GroupAverages(group []int) (means []Averages, counts []int, groups []int) {
	of, groups := Compact(group)
	sums := make([]sumOf, len(groups))
	for q := range r.FirstRank {
		sums[of[q]].add(r.query(q))
	}
	means, counts = make([]Averages, len(groups)), make([]int, len(groups))
	for g, s := range sums {
		means[g], counts[g] = s.mean(), s.n
	}
	return means, counts, groups
}

func (r *Retrieval) query(q int) (a Averages, counts bool) {
	rank := r.FirstRank[q]
	if rank < 0 {
		return a, false
	}
	if rank == 1 {
		a.PrecisionAt1 = 1
	}
	a.MRR = 1 / float64(rank)
	if r.RPrecision != nil {
		a.RPrecision, a.MAPAtR, a.MAP = r.RPrecision[q], r.AveragePrecisionAtR[q], r.AveragePrecision[q]
	}
	return a, true
}

type sumOf struct {
	Averages
	n int
}

func (s *sumOf) add(a Averages, counts bool) {
	if !counts {
		return
	}
	s.n++
	s.PrecisionAt1 += a.PrecisionAt1
	s.RPrecision += a.RPrecision
	s.MAPAtR += a.MAPAtR
	s.MAP += a.MAP
	s.MRR += a.MRR
}

func (s *sumOf) mean() Averages {
	n := float64(max(s.n, 1))
	return Averages{s.PrecisionAt1 / n, s.RPrecision / n, s.MAPAtR / n, s.MAP / n, s.MRR / n}
}
