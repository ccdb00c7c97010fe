package eval

import (
	"cmp"
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
	find      finder
	class     []int // of the gallery
	ties      TieRule
	seed      uint64
	first     int // number of the first query, for ties that are drawn
	firstOnly bool
	windows   int // most that are looked at one by one
	// fine, unless nil, has keys by gallery row that err by no more than
	// layers.PairError of themselves: of the right rows, and of those in windows.
	fine []float64
	// without are rows of the query's class that are not ranked, beside self.
	without []int32

	right    []ranked
	behind   []int // behind[i]: wrong rows that exactly i right ones precede
	near     []openRow
	edge     []int // difference array of the ranges in near
	runStart []int // start of the run of near ties that right[i] is in
	ranks    []int
	rows     []int32 // to be refined
	found    []int32 // in a window
}

// ranked is a right answer, sorted by float32 key; those in a run of near
// ties are sorted again by exact key and place.
type ranked struct {
	row   int32
	key32 float32
	exact spot
	curve float64 // if known
	known bool
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
// float32 keys, which it may overwrite; self is left out unless it is -1. right may
// list self. With firstOnly the ranks end with the first. The result is valid until
// the next call.
func (r *ranker) rank(query, self, class int, right []int32, keys []float32) (ranks []int, tied bool, err error) {
	if err := r.load(query, self, right, keys); err != nil {
		return nil, false, err
	}
	if len(r.right) == 0 {
		return nil, false, nil
	}
	// One key of each query is checked even if float32 settles all of them, so
	// that an engine that is less exact does not go unnoticed.
	if _, err := r.exact(r.right[0].row, r.right[0].key32); err != nil {
		return nil, false, err
	}
	if err := r.scan(self, class, keys); err != nil {
		return nil, false, err
	}
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

func (r *ranker) load(query, self int, right []int32, keys []float32) error {
	r.bench.begin(query)
	r.right, r.near, r.rows = r.right[:0], r.near[:0], r.rows[:0]
	for _, i := range right {
		if int(i) != self {
			r.rows = append(r.rows, i)
		}
	}
	fine := r.layout.sketch != nil
	if fine {
		values, err := r.refine(r.rows, keys)
		if err != nil {
			return err
		}
		largest := 0.0
		for n, i := range r.rows {
			r.right = append(r.right, ranked{row: i, key32: values[n]})
			largest = max(largest, float64(values[n]))
		}
		r.tighten(largest + 2*(r.blockErr+r.err32)) // what is open is no farther
	} else {
		largest := 0.0
		for _, i := range r.rows {
			r.right = append(r.right, ranked{row: i, key32: keys[i]})
			largest = max(largest, float64(keys[i]))
		}
		if r.layout.summed() {
			r.tighten(largest + 4*r.err32)
			r.blockErr = r.err32
		}
	}
	for _, w := range r.right {
		if !(math.Abs(float64(w.key32)) <= math.MaxFloat32) {
			r.err32, r.blockErr = math.Inf(1), math.Inf(1)
		}
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
	return nil
}

// scan counts every wrong row that float32 can place, and lists the others in near.
func (r *ranker) scan(self, class int, keys []float32) error {
	n := len(keys)
	if self >= 0 {
		keys[self] = never
		n--
	}
	for _, i := range r.without {
		keys[i] = never
		if int(i) != self {
			n--
		}
	}
	if !math.IsInf(r.blockErr, 1) && r.find.CountBelow(keys, float32(math.Inf(1))) == n {
		r.rows = r.rows[:0]
		r.scanWindows(class, keys)
		if r.layout.sketch == nil {
			return nil
		}
		return r.refineNear(keys)
	}
	// Only float64 can tell.
	for i, key := range keys {
		if r.class[i] != class && i != self {
			r.near = append(r.near, openRow{int32(i), key, 0, len(r.right)})
		}
	}
	if r.layout.sketch == nil {
		return nil
	}
	r.rows = r.rows[:0]
	for _, w := range r.near {
		r.rows = append(r.rows, w.row)
	}
	fine, err := r.refine(r.rows, keys)
	for i, v := range fine {
		r.near[i].key32 = v
	}
	return err
}

// scanWindows looks at the windows around right answers, in which the float32 key
// of a wrong row may lie on either side of it, and counts the rows between windows.
// Other rows of the class lie in them, too, or beyond.
func (r *ranker) scanWindows(class int, keys []float32) {
	slack := r.err32 + r.blockErr
	if r.layout.sketch == nil {
		slack = 2 * r.err32
	}
	before := 0 // rows up to the end of the last window
	for i := 0; i < len(r.right); {
		low := roundDown(r.blockKey(i) - slack)
		high := roundUp(r.blockKey(i) + slack)
		j := i + 1
		for ; j < len(r.right); j++ {
			if next := roundDown(r.blockKey(j) - slack); next > high && len(r.right) <= r.windows {
				break
			}
			high = roundUp(r.blockKey(j) + slack)
		}
		r.found = r.find.Between(r.found[:0], keys, low, high)
		below := r.find.CountBelow(keys, low)
		r.behind[i] += below - before
		before = below + len(r.found)
		r.place(class, keys, i, j, slack)
		i = j
	}
}

// maxWindows is how many windows the host searches for one by one; more make one.
const maxWindows = 64

// blockKey is the key of a right answer as a block of keys has it.
func (r *ranker) blockKey(i int) float64 {
	key := float64(r.right[i].key32)
	if r.layout.sketch != nil {
		key -= r.shift
	}
	return key
}

// place puts the wrong rows of found among right[from:to].
func (r *ranker) place(class int, keys []float32, from, to int, slack float64) {
	var last openRow // rows of one key, as in a collapsed set, are placed once
	if r.fine != nil {
		slices.SortFunc(r.right[from:to], func(a, b ranked) int { return cmp.Compare(r.fine[a.row], r.fine[b.row]) })
	}
	for _, i := range r.found {
		if r.class[i] == class {
			continue
		}
		key := keys[i]
		lo, hi := last.lo, last.hi
		if r.layout.sketch != nil {
			slack = r.err32 + r.rowError(i)
		}
		switch {
		case r.fine != nil:
			lo, hi = r.rangeFine(i, from, to)
		case last.hi == 0 || last.key32 != key || r.layout.sketch != nil:
			lo, hi = r.range32(float64(key), from, to, slack, r.blockKey)
		}
		last = openRow{i, key, lo, hi}
		if lo == hi {
			r.behind[lo]++
			continue
		}
		r.near = append(r.near, last)
	}
}
