package eval

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// ranker finds the ranks of a query's right answers (gallery rows of its
// label) without sorting the gallery: a wrong row pushes back every right one
// that it precedes, so it is enough to count, for each wrong row, how many
// right ones are nearer. float32 keys decide, except within twice their error
// bound, where both rows are evaluated in float64.
type ranker struct {
	*bench
	class     []int // of the gallery
	ties      TieRule
	seed      uint64
	firstOnly bool

	right    []ranked
	behind   []int // behind[i]: wrong rows that exactly i right ones precede
	near     []openRow
	edge     []int // difference array of the ranges in near
	runStart []int // start of the run of near ties that right[i] is in
	ranks    []int
}

// ranked is a right answer, sorted by float32 key; those in a run of near
// ties are sorted again by exact key and place.
type ranked struct {
	row   int32
	key32 float32
	exact spot
}

// openRow is a wrong row whose place among right[lo:hi] is open.
type openRow struct {
	row    int32
	key32  float32
	lo, hi int
}

// spot is an exact position in the order of a query.
type spot struct {
	key   float64
	place uint64
}

func (s spot) compare(t spot) int {
	switch {
	case s.key < t.key:
		return -1
	case s.key > t.key:
		return 1
	case s.place < t.place:
		return -1
	case s.place > t.place:
		return 1
	}
	return 0
}

// rank returns the 1-based ranks of the right answers, ascending, and whether
// a wrong row is at exactly the distance of the nearest. keys are the query's
// float32 keys; self is left out unless it is -1. right may list self. With
// firstOnly the ranks end with the first. The result is valid until the next
// call.
func (r *ranker) rank(query, self, class int, right []int32, keys []float32) (ranks []int, tied bool, err error) {
	r.load(query, self, right, keys)
	if len(r.right) == 0 {
		return nil, false, nil
	}
	// One key of each query is checked even if float32 settles all of them, so
	// that an engine that is less exact does not go unnoticed.
	if _, err := r.exact(r.right[0].row, r.right[0].key32); err != nil {
		return nil, false, err
	}
	r.scan(self, class, keys)
	if len(r.near) > 0 {
		if tied, err = r.settle(); err != nil {
			return nil, false, err
		}
	}
	n := len(r.right)
	if r.firstOnly {
		n = 1
	}
	r.ranks = r.ranks[:0]
	wrong := 0
	for i := range n {
		wrong += r.behind[i]
		r.ranks = append(r.ranks, wrong+i+1)
	}
	return r.ranks, tied, nil
}

func (r *ranker) load(query, self int, right []int32, keys []float32) {
	r.bench.begin(query)
	r.right, r.near = r.right[:0], r.near[:0]
	for _, i := range right {
		if int(i) == self {
			continue
		}
		if !(math.Abs(float64(keys[i])) <= math.MaxFloat32) {
			r.err32 = math.Inf(1)
		}
		r.right = append(r.right, ranked{row: i, key32: keys[i]})
	}
	slices.SortFunc(r.right, func(a, b ranked) int {
		switch {
		case a.key32 < b.key32:
			return -1
		case a.key32 > b.key32:
			return 1
		}
		return 0
	})
	if r.firstOnly && len(r.right) > 0 && !math.IsInf(r.err32, 1) {
		last := roundUp(float64(r.right[0].key32) + 2*r.err32)
		n := sort.Search(len(r.right), func(i int) bool { return r.right[i].key32 > last })
		r.right = r.right[:n]
	}
	r.behind = append(r.behind[:0], make([]int, len(r.right)+1)...)
}

// scan counts every wrong row that float32 can place, and lists the others.
func (r *ranker) scan(self, class int, keys []float32) {
	n := len(r.right)
	slack := 2 * r.err32
	before, beyond := float32(math.Inf(-1)), float32(math.Inf(1))
	if !math.IsInf(slack, 1) {
		before = roundDown(float64(r.right[0].key32) - slack)
		beyond = roundUp(float64(r.right[n-1].key32) + slack)
	}
	first := 0
	var last openRow // rows of one key, as in a collapsed set, are placed once
	for i, key := range keys {
		if key > beyond {
			continue
		}
		if key < before {
			if i != self {
				first++
			}
			continue
		}
		if r.class[i] == class || i == self {
			continue
		}
		lo, hi := 0, n
		switch k := float64(key); {
		case math.IsInf(slack, 1):
		case last.hi > 0 && last.key32 == key:
			lo, hi = last.lo, last.hi
		default:
			lo = sort.Search(n, func(i int) bool { return float64(r.right[i].key32)+slack >= k })
			hi = lo + sort.Search(n-lo, func(i int) bool { return float64(r.right[lo+i].key32)-slack > k })
		}
		last = openRow{int32(i), key, lo, hi}
		if lo == hi {
			r.behind[lo]++
			continue
		}
		r.near = append(r.near, last)
	}
	r.behind[0] += first
}

// settle places the rows in near by float64.
func (r *ranker) settle() (tied bool, err error) {
	n := len(r.right)
	r.edge = append(r.edge[:0], make([]int, n+1)...)
	for _, w := range r.near {
		r.edge[w.lo]++
		r.edge[w.hi]--
	}
	if err := r.sortRuns(); err != nil {
		return false, err
	}
	var last spot
	from, at := -1, 0
	for _, w := range r.near {
		key, err := r.exact(w.row, w.key32)
		if err != nil {
			return false, err
		}
		s := spot{key, r.ties.place(r.seed, r.query, int(w.row), false)}
		if start := r.runStart[w.lo]; start != from || s != last {
			from, last = start, s
			to := from + sort.Search(n-from, func(i int) bool { return r.runStart[from+i] != from })
			at = from + sort.Search(to-from, func(i int) bool { return s.compare(r.right[from+i].exact) < 0 })
		}
		if at < w.lo || at > w.hi {
			return false, fmt.Errorf("eval: the engine's %v keys of query %d err more than float32 arithmetic can", r.layout.kernel, r.query)
		}
		r.behind[at]++
		tied = tied || from == 0 && key == r.right[0].exact.key
	}
	return tied, nil
}

// sortRuns evaluates the right rows that near ties touch and sorts each run of
// them. A run is the union of overlapping ranges; runStart[i] is where i's begins.
// Which right row comes first elsewhere does not matter to any rank.
func (r *ranker) sortRuns() error {
	n := len(r.right)
	r.runStart = append(r.runStart[:0], make([]int, n+1)...)
	r.runStart[n] = n
	open, from := 0, 0
	for i := range n {
		if open == 0 {
			from = i
		}
		open += r.edge[i]
		r.runStart[i] = from
		if open == 0 {
			r.runStart[i] = i
			continue
		}
		right := &r.right[i]
		key, err := r.exact(right.row, right.key32)
		if err != nil {
			return err
		}
		right.exact = spot{key, r.ties.place(r.seed, r.query, int(right.row), true)}
	}
	for i := 0; i < n; {
		j := i + 1
		for j < n && r.runStart[j] == i {
			j++
		}
		if j > i+1 {
			slices.SortFunc(r.right[i:j], func(a, b ranked) int { return a.exact.compare(b.exact) })
		}
		i = j
	}
	return nil
}
