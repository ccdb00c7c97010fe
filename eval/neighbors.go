package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// NeighborList holds the K nearest gallery rows of every query, nearest first. Where
// groups leave a query fewer, the rest of its rows are -1, at a distance of 0.
type NeighborList struct {
	Queries, K int
	Index      []int32   // (Queries, K) gallery rows
	Distance   []float64 // (Queries, K)
}

// Of returns the neighbors of query q, K or fewer, which share memory with the list.
func (l *NeighborList) Of(q int) (index []int32, distance []float64) {
	index = l.Index[q*l.K : (q+1)*l.K]
	n := len(index)
	for n > 0 && index[n-1] < 0 {
		n--
	}
	return index[:n], l.Distance[q*l.K:][:n]
}

// Neighbors finds the k nearest gallery rows of every query, in the order of
// brute force in float64, the lower index first among equals. k may not exceed
// the rows a query can have, itself left out; of SearchOptions.Groups it may. A Searcher
// does the same for a gallery that is searched more than once.
func Neighbors(ctx context.Context, eng Engine, queries, gallery *Embeddings, m metric.Metric, k int, opt SearchOptions) (*NeighborList, error) {
	s, err := NewSearcher(eng, gallery, m)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Nearest(ctx, queries, k, opt)
}

// nearest gives store the k nearest gallery rows of every query, from several goroutines
// at once. What it is given was checked.
func nearest(ctx context.Context, eng Engine, queries, gallery *Embeddings, m metric.Metric, k int, opt SearchOptions, store func(q int, nearest []ranked)) error {
	s, j, err := newScan(eng, queries, gallery, m, opt, cuts{nearest: k})
	if err != nil {
		return err
	}
	selectors := make([]*selector, opt.workers())
	for w := range selectors {
		selectors[w] = &selector{bench: j.bench(), find: s.find, k: k}
	}
	if s.device != nil && opt.Groups == nil {
		return s.nearestOnDevice(ctx, selectors, store)
	}
	leftOut := opt.Groups.leftOut(queries, gallery)
	return s.each(ctx, func(worker, q int, keys []float32) error {
		nearest, err := selectors[worker].nearest(q, opt.self(q), leftOut(q), keys)
		if err == nil {
			store(q, nearest)
		}
		return err
	})
}

// check reports what is wrong with the arguments of a search.
func check(queries, gallery *Embeddings, m metric.Metric, opt SearchOptions) error {
	if _, err := newOrder(m); err != nil {
		return err
	}
	if err := checkGallery(gallery); err != nil {
		return err
	}
	return checkQueries(queries, gallery, opt)
}

func checkGallery(gallery *Embeddings) error {
	if err := checkGalleryShape(gallery); err != nil {
		return err
	}
	if err := gallery.checkFinite(); err != nil {
		return fmt.Errorf("gallery: %w", err)
	}
	return nil
}

func checkGalleryShape(gallery *Embeddings) error {
	if err := gallery.checkShape(); err != nil {
		return fmt.Errorf("gallery: %w", err)
	}
	if gallery.N > math.MaxInt32 {
		return fmt.Errorf("eval: gallery of %d rows, at most %d are supported", gallery.N, math.MaxInt32)
	}
	return nil
}

// checkQueries is for a gallery that was checked.
func checkQueries(queries, gallery *Embeddings, opt SearchOptions) error {
	if queries != gallery {
		if err := queries.Validate(); err != nil {
			return fmt.Errorf("queries: %w", err)
		}
	}
	return opt.check(queries, gallery)
}

// prepare checks what a search is given, and chooses how it goes about it.
func prepare(eng Engine, queries, gallery *Embeddings, m metric.Metric, opt SearchOptions, c cuts) (*scanner, *judge, error) {
	if err := check(queries, gallery, m, opt); err != nil {
		return nil, nil, err
	}
	return newScan(eng, queries, gallery, m, opt, c)
}

// newScan is prepare of what was checked.
func newScan(eng Engine, queries, gallery *Embeddings, m metric.Metric, opt SearchOptions, c cuts) (*scanner, *judge, error) {
	o, err := newOrder(m)
	if err != nil {
		return nil, nil, err
	}
	l := newLayout(o, opt.workers(), gallery, opt.kept)
	s := &scanner{eng: eng, find: plainFinder{}, queries: queries, gallery: gallery, opt: opt}
	if host, ok := eng.(rowEngine); ok {
		s.host, s.find = host, host
		if l.sketch, err = chooseSketch(o, host, queries, gallery, opt, c); err != nil {
			return nil, nil, err
		}
	}
	s.layout = l
	// What the engine says of distances with no bound of their errors does not count:
	// all of them have to come to the host.
	if device, ok := eng.(engine.RowSearcher); ok && s.host == nil && !math.IsInf(l.keyError(1, 1, gallery.H), 1) {
		s.device = device
	}
	s.judge = newJudge(l, s.host, opt.workers(), opt.kept, queries, gallery)
	return s, s.judge, nil
}

// selector finds the k nearest rows of one query after another.
type selector struct {
	*bench
	find finder
	k    int
	heap []float32 // the k smallest keys so far, largest first
	list []int32
	rows []ranked
}

// nearest leaves out self, unless it is -1, and without, which ascends.
func (s *selector) nearest(query, self int, without []int32, keys []float32) ([]ranked, error) {
	s.begin(query)
	if self >= 0 {
		keys[self] = float32(math.Inf(1))
	}
	for _, i := range without {
		keys[i] = float32(math.Inf(1))
	}
	s.list = s.list[:0]
	if limit := s.limit(keys, s.blockErr); limit <= math.MaxFloat32 {
		s.list = s.find.Between(s.list, keys, float32(math.Inf(-1)), limit)
	} else {
		for i := range keys {
			s.list = append(s.list, int32(i))
		}
	}
	s.list = slices.DeleteFunc(s.list, func(i int32) bool {
		_, left := slices.BinarySearch(without, i)
		return left || int(i) == self
	})
	s.rows = s.rows[:0]
	if len(s.list) == 0 {
		return nil, nil
	}
	if s.layout.sketch != nil {
		fine, err := s.refine(s.list, keys)
		if err != nil {
			return nil, err
		}
		limit := s.limit(fine, s.err32)
		for n, i := range s.list {
			if !(fine[n] > limit) {
				s.rows = append(s.rows, ranked{row: i, key32: fine[n]})
			}
		}
	} else {
		for _, i := range s.list {
			s.rows = append(s.rows, ranked{row: i, key32: keys[i]})
		}
	}
	return s.sort()
}

// among is nearest of which the engine has found the rows that may be.
func (s *selector) among(query int, rows []int32, keys []float32) ([]ranked, error) {
	s.begin(query)
	s.rows = s.rows[:0]
	for n, i := range rows {
		s.rows = append(s.rows, ranked{row: i, key32: keys[n]})
	}
	return s.sort()
}

// sort returns the k nearest of rows by their exact keys.
func (s *selector) sort() ([]ranked, error) {
	for n, w := range s.rows {
		key, err := s.exact(w.row, w.key32)
		if err != nil {
			return nil, err
		}
		s.rows[n].exact = spot{key, uint64(w.row)}
	}
	slices.SortFunc(s.rows, func(a, b ranked) int { return a.exact.compare(b.exact) })
	return s.rows[:min(s.k, len(s.rows))], nil
}

// limit returns a key that none of the k nearest exceeds: the k-th smallest
// float32 key and twice its error.
func (s *selector) limit(keys []float32, within float64) float32 {
	if math.IsInf(within, 1) {
		return float32(math.Inf(1))
	}
	kth := s.kth(keys)
	if kth != kth {
		return float32(math.Inf(1))
	}
	return roundUp(float64(kth) + 2*within)
}

// kth returns the k-th smallest key, or NaN if any is: only float64 can tell then.
func (s *selector) kth(keys []float32) float32 {
	s.heap = s.heap[:0]
	for _, key := range keys {
		switch {
		case key != key:
			return key
		case len(s.heap) < s.k:
			s.heap = append(s.heap, key)
			s.up()
		case key < s.heap[0]:
			s.heap[0] = key
			s.down()
		}
	}
	return s.heap[0]
}

func (s *selector) up() {
	h, i := s.heap, len(s.heap)-1
	for i > 0 && h[(i-1)/2] < h[i] {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
}

func (s *selector) down() {
	h, i := s.heap, 0
	for {
		big := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c] > h[big] {
				big = c
			}
		}
		if big == i {
			return
		}
		h[i], h[big] = h[big], h[i]
		i = big
	}
}
