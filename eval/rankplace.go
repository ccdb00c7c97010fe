package eval

import (
	"fmt"
	"slices"
	"sort"

	"github.com/vernier-ml/vernier/engine"
)

// range32 returns the right answers in right[from:to] that a key may precede or
// not: those before lo it cannot, those from hi on it does.
func (r *ranker) range32(key float64, from, to int, slack float64, right func(i int) float64) (lo, hi int) {
	lo = from + sort.Search(to-from, func(i int) bool { return right(from+i)+slack >= key })
	hi = lo + sort.Search(to-lo, func(i int) bool { return right(lo+i)-slack > key })
	return lo, hi
}

// rangeFine is range32 by fine keys, which are not negative.
func (r *ranker) rangeFine(row int32, from, to int) (lo, hi int) {
	e := engine.PairError(r.gallery.H)
	low, high := r.fine[row]*(1-e), r.fine[row]*(1+e)
	lo = from + sort.Search(to-from, func(i int) bool { return r.fine[r.right[from+i].row]*(1+e) >= low })
	hi = lo + sort.Search(to-lo, func(i int) bool { return r.fine[r.right[lo+i].row]*(1-e) > high })
	return lo, hi
}

// refineNear computes the keys of open rows in float32, where a sketch has left
// them open.
func (r *ranker) refineNear(keys []float32) error {
	for _, w := range r.near {
		r.rows = append(r.rows, w.row)
	}
	fine, err := r.refine(r.rows, keys)
	if err != nil {
		return err
	}
	open := r.near[:0]
	for i, w := range r.near {
		w.key32 = fine[i]
		w.lo, w.hi = r.range32(float64(w.key32), w.lo, w.hi, 2*r.err32, func(i int) float64 { return float64(r.right[i].key32) })
		if w.lo == w.hi {
			r.behind[w.lo]++
			continue
		}
		if r.curve != nil && w.hi == w.lo+1 {
			if at, settled := r.beside(w); settled {
				r.behind[at]++
				continue
			}
		}
		open = append(open, w)
	}
	r.near = open
	return nil
}

// beside places a row with only one right answer in question by the curve.
func (r *ranker) beside(w openRow) (at int, settled bool) {
	x := r.queries.Row(r.query)
	right := &r.right[w.lo]
	if !right.known {
		right.curve, right.known = r.curve.mean(x, r.gallery.Row(int(right.row))), true
	}
	switch d := r.curve.mean(x, r.gallery.Row(int(w.row))) - right.curve; {
	case d > 2*r.curve.err:
		return w.hi, true
	case d < -2*r.curve.err:
		return w.lo, true
	}
	return 0, false
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
		s := spot{key, r.ties.place(r.seed, r.first+r.query, int(w.row), false)}
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
		right.exact = spot{key, r.ties.place(r.seed, r.first+r.query, int(right.row), true)}
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
