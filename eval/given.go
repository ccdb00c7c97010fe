package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// RetrieveBy is Retrieve by distances that are given: row sets dst[j] to the distance
// of a query from gallery row j, smaller being nearer. It is called by several
// goroutines at once. NaN is an error.
func RetrieveBy(ctx context.Context, queries, gallery *Embeddings, opt RetrievalOptions, row func(query int, dst []float64) error) (*Retrieval, error) {
	if err := opt.checkLabeled(queries, gallery); err != nil {
		return nil, err
	}
	class, distinct := Compact(gallery.Labels)
	rows := members(class, len(distinct))
	r, tied := newRetrieval(queries, opt), make([]bool, queries.N)
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	next, done := 0, 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = ctx.Err()
		}
		if failed != nil || next == queries.N {
			return -1
		}
		next++
		return next - 1
	}
	for range opt.workers() {
		group.Go(func() {
			dst, order := make([]float64, gallery.N), newGivenOrder(gallery.N)
			for q := take(); q >= 0; q = take() {
				err := row(q, dst)
				if err == nil {
					tied[q], err = order.query(r, q, dst, queries.Labels[q], distinct, rows, opt)
				}
				mu.Lock()
				if done++; err != nil && failed == nil {
					failed = err
				}
				if opt.Progress != nil && failed == nil {
					opt.Progress(done, queries.N)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if failed != nil {
		return nil, failed
	}
	return r, r.count(tied, opt.Groups != nil)
}

// givenOrder ranks one query after another.
type givenOrder struct {
	out    []bool
	spots  []spot
	ranked []int
}

func newGivenOrder(n int) *givenOrder { return &givenOrder{out: make([]bool, n)} }

// query stores the ranks of a query's right answers.
func (g *givenOrder) query(r *Retrieval, q int, d []float64, label int, distinct []int, rows [][]int32, opt RetrievalOptions) (tied bool, err error) {
	if i := slices.IndexFunc(d, math.IsNaN); i >= 0 {
		return false, fmt.Errorf("eval: the distance of query %d from row %d is NaN", q, i)
	}
	c, known := slices.BinarySearch(distinct, label)
	if !known {
		r.set(q, nil, 0)
		return false, nil
	}
	right, without := opt.Groups.divide(q, rows[c])
	if self := opt.self(q); self >= 0 {
		without = append(slices.Clone(without), int32(self))
		right = slices.DeleteFunc(slices.Clone(right), func(i int32) bool { return int(i) == self })
	}
	for _, i := range without {
		g.out[i] = true
	}
	g.spots = g.spots[:0]
	for _, i := range right {
		g.out[i] = true
		g.spots = append(g.spots, spot{d[i], opt.Ties.place(opt.Seed, q, int(i), true)})
	}
	slices.SortFunc(g.spots, spot.compare)
	behind := make([]int, len(g.spots)+1)
	for i, v := range d {
		switch {
		case g.out[i]:
			continue
		case len(g.spots) > 0 && v == g.spots[0].key:
			tied = true
		}
		s := spot{v, opt.Ties.place(opt.Seed, q, i, false)}
		at, _ := slices.BinarySearchFunc(g.spots, s, spot.compare)
		behind[at]++
	}
	for _, i := range rows[c] { // all that were left out are of the class
		g.out[i] = false
	}
	if self := opt.self(q); self >= 0 {
		g.out[self] = false
	}
	g.ranked = g.ranked[:0]
	wrong := 0
	for i := range g.spots {
		wrong += behind[i]
		g.ranked = append(g.ranked, wrong+i+1)
	}
	r.set(q, g.ranked, len(right))
	return tied, nil
}
