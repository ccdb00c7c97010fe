package losses

import (
	"cmp"
	"slices"
)

// Triplet asks every negative to be farther from the anchor than every
// positive, by a margin (BRM Eq. 3; Schroff, Kalenichenko and Philbin 2015):
//
//	[D(a,p) - D(a,q) + Margin]+
//
// for a distance; for a similarity the difference changes sign. Without Window
// and Miner all triplets of the batch are terms. Neither they nor those of a
// Window are ever listed: an anchor's negatives are sorted once, which takes
// O((P+N) log N) time and O(N) memory.
//
// The zero value has a margin of 0.1 on similarities, which it takes for cosines: the
// paper's 0.2 on squared distances of unit vectors. On distances, which it takes for
// those of unit vectors, it is 0.1414, the same share of that of unrelated ones.
type Triplet struct {
	Margin float64
	// Window keeps some triplets by their gap; nil keeps all.
	Window *Window
	// Miner takes the place of Window where it is set.
	Miner TripletMiner
	// Swap replaces D(a,q) by D(p,q) where that is the nearer (Balntas et al.
	// 2016, Sect. 3.3). The matrix must be that of a batch with itself.
	Swap bool
	// Smooth replaces [x]+ by log(1 + exp x).
	Smooth    bool
	Reduction Reduction

	paper    paper
	counts   tally
	w        []float64
	values   []float64 // per anchor
	pos, neg []int
	sorted   []float64 // away*V of the negatives, ascending
	prefix   []float64 // prefix[k] is the sum of the first k of sorted
	pushed   []int     // pushed[k]: positives that push negative k, as differences
	mined    Triplets
	window   *Window // Window itself, or the paper's
}

// Columns is Batch.
func (*Triplet) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are triplets.
func (t *Triplet) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(t, m, grad) }

func (t *Triplet) byRows() bool { return t.Miner == nil && !t.Swap }

func (t *Triplet) about() about { return about{"triplet", tripletEntry, &t.paper} }

func (t *Triplet) fields(f *fields) {
	f.notNegative("Margin", t.Margin)
	f.flag(t.Window != nil)
	f.miner("Miner", t.Miner)
	f.flag(t.Swap)
	f.flag(t.Smooth)
	f.choice("Reduction", int(t.Reduction), "MeanNonZero", "MeanAll", "PerAnchor")
}

func (t *Triplet) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("triplet", grad); err != nil {
		return Result{}, err
	}
	if t.Swap {
		if err := m.checkSquare("triplet (swap)", grad); err != nil {
			return Result{}, err
		}
	}
	zero(grad)
	t.counts.reset(m.Rows)
	if t.window = nil; t.Window != nil {
		w, err := t.Window.settled(m.Similarity)
		if err != nil {
			return Result{}, err
		}
		t.window = &w
	}
	switch {
	case t.Miner != nil:
		if err := t.Miner.Mine(m, &t.mined); err != nil {
			return Result{}, err
		}
		if err := t.mined.check(m); err != nil {
			return Result{}, err
		}
		return t.list(m, grad, func(yield func(a, p, q int)) {
			for k, a := range t.mined.Anchor {
				yield(a, t.mined.Positive[k], t.mined.Negative[k])
			}
		}), nil
	case t.Swap || t.Smooth:
		return t.list(m, grad, func(yield func(a, p, q int)) { t.each(m, yield) }), nil
	}
	return t.all(m, grad), nil
}

// each calls yield for every triplet of the window, without listing them.
func (t *Triplet) each(m *Matrix, yield func(a, p, q int)) {
	away := m.Away()
	for a := range m.Rows {
		t.pos, t.neg = m.split(a, t.pos[:0], t.neg[:0])
		v := m.row(m.V, a)
		for _, p := range t.pos {
			for _, q := range t.neg {
				if t.window == nil || t.window.holds(away*(v[q]-v[p])) {
					yield(a, p, q)
				}
			}
		}
	}
}

// list is the loss on triplets that are named one by one, twice: the first
// pass counts, the second weighs.
func (t *Triplet) list(m *Matrix, grad []float64, each func(yield func(a, p, q int))) Result {
	each(func(a, p, q int) {
		t.counts.all[a]++
		if value, _, _ := t.term(m, a, p, q); value > 0 {
			t.counts.active[a]++
		}
	})
	t.w = t.counts.weights(m, t.Reduction, t.w)
	t.values = grow(t.values, m.Rows)
	clear(t.values)
	away := m.Away()
	each(func(a, p, q int) {
		value, slope, from := t.term(m, a, p, q)
		if value <= 0 {
			return
		}
		t.values[a] += t.w[a] * value
		slope *= away * t.w[a]
		grad[a*m.Cols+p] += slope
		grad[from*m.Cols+q] -= slope
	})
	return Result{Value: m.sum(t.values), Active: t.counts.sumActive, Total: t.counts.sumAll}
}

// term returns one triplet's loss, its derivative with respect to the gap
// between positive and negative, and the row from which the negative is
// measured.
func (t *Triplet) term(m *Matrix, a, p, q int) (value, slope float64, from int) {
	away := m.Away()
	positive, negative := m.V[a*m.Cols+p], m.V[a*m.Cols+q]
	from = a
	if t.Swap {
		if other := m.V[p*m.Cols+q]; away*other < away*negative {
			negative, from = other, p
		}
	}
	x := away*(positive-negative) + t.Margin
	if t.Smooth {
		value, slope = softplus(x)
		return value, slope, from
	}
	return hinge(x), 1, from
}

// all is the hinge loss over all triplets, or those of the window.
func (t *Triplet) all(m *Matrix, grad []float64) Result {
	t.values = grow(t.values, m.Rows)
	for a := range m.Rows {
		t.anchor(m, a, m.row(grad, a))
	}
	t.w = t.counts.weights(m, t.Reduction, t.w)
	for a := range m.Rows {
		t.values[a] *= t.w[a]
		scale := m.Away() * t.w[a]
		g := m.row(grad, a)
		for j := range g {
			if g[j] != 0 {
				g[j] *= scale
			}
		}
	}
	return Result{Value: m.sum(t.values), Active: t.counts.sumActive, Total: t.counts.sumAll}
}

// anchor adds up the triplets of one anchor: g[p] counts the negatives that
// violate the margin of p, g[q] is minus the number of positives that push q.
func (t *Triplet) anchor(m *Matrix, a int, g []float64) {
	t.values[a] = 0
	t.pos, t.neg = m.split(a, t.pos[:0], t.neg[:0])
	if len(t.pos) == 0 || len(t.neg) == 0 {
		return
	}
	away := m.Away()
	v := m.row(m.V, a)
	slices.SortFunc(t.neg, func(i, j int) int { return cmp.Compare(away*v[i], away*v[j]) })
	n := len(t.neg)
	t.sorted = grow(t.sorted, n)
	t.prefix = grow(t.prefix, n+1)
	t.pushed = grow(t.pushed, n+1)
	clear(t.pushed)
	t.prefix[0] = 0
	for k, q := range t.neg {
		t.sorted[k] = away * v[q]
		t.prefix[k+1] = t.prefix[k] + t.sorted[k]
	}
	for _, p := range t.pos {
		from, to, kept := t.bounds(away * v[p])
		t.counts.all[a] += kept
		t.counts.active[a] += to - from
		t.values[a] += float64(to-from)*(away*v[p]+t.Margin) - (t.prefix[to] - t.prefix[from])
		g[p] = float64(to - from)
		t.pushed[from]++
		t.pushed[to]--
	}
	pushing := 0
	for k, q := range t.neg {
		if pushing += t.pushed[k]; pushing > 0 {
			g[q] = -float64(pushing)
		}
	}
}

// bounds returns which of the sorted negatives, [from, to), violate the margin
// of a positive at distance d and lie in the window, and how many lie in the
// window at all.
func (t *Triplet) bounds(d float64) (from, to, kept int) {
	first := func(beyond func(gap float64) bool) int {
		k, _ := slices.BinarySearchFunc(t.sorted, 0, func(negative float64, _ int) int {
			if beyond(negative - d) {
				return 1
			}
			return -1
		})
		return k
	}
	from, end := 0, len(t.sorted)
	if t.window != nil {
		from = first(func(gap float64) bool { return gap > t.window.Above })
		end = max(from, first(func(gap float64) bool { return gap > t.window.UpTo }))
	}
	to = first(func(gap float64) bool { return t.Margin-gap <= 0 })
	return from, min(max(from, to), end), end - from
}

func tripletEntry(o Options) entry {
	y := raw(o)
	return entry{
		meaning: "every negative farther than every positive, by a margin",
		source:  "Schroff et al. 2015; BRM Eq. 3",
		settings: []setting{
			y.gap("margin", "by how much a negative must be farther than a positive", 0.1*y.unit()),
			oneOf("mining", "all triplets; by their gap; one a positive pair; one an anchor; by angle; drawn by chance",
				"all", "semihard", "hard", "nearest-semihard", "batch-hard", "easy-positive", "angular", "distance-weighted", "uniform"),
			whole("per-anchor", "most triplets of an anchor, drawn by chance; 0 means no limit (uniform: 1)", 0, 0, maxPerAnchor),
			whole("seed", "of the draws", 0, 0, 1<<32-1),
			yesNo("swap", "measure the negative from the positive where that is nearer", false),
			yesNo("smooth", "log(1 + exp x) in place of the hinge", false),
			reductionSetting(),
		},
		build: func(v values) (Loss, error) {
			t := &Triplet{Margin: v.real("margin"), Swap: v.on("swap"), Smooth: v.on("smooth"), Reduction: v.reduction()}
			var err error
			t.Window, t.Miner, err = tripletMining(o, v)
			return t, err
		},
	}
}
