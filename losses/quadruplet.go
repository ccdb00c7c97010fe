package losses

import (
	"cmp"
	"slices"
)

// Quadruplet is the triplet loss plus the demand that every positive pair be
// closer than every negative pair of other rows and classes (Chen et al. 2017,
// Eq. 7, on the metric's values):
//
//	[D(a,p) - D(a,q) + Margin1]+   over triplets
//	[D(a,p) - D(q,r) + Margin2]+   over a, p of one class, q and r of two others
//
// each reduced by itself, and added. No quadruplet is listed: negative pairs are
// sorted once, so a batch takes O(B^2 log B). The matrix must be that of a batch
// with itself.
//
// The zero value has Margin1 0.1 and Margin2 0.05 on similarities, which it takes for
// cosines, and 0.1414 and 0.07071 on distances, which it takes for those of unit
// vectors.
type Quadruplet struct {
	Margin1, Margin2 float64
	Reduction        Reduction // MeanNonZero or MeanAll

	paper   paper
	triplet Triplet
	values  []float64 // away*V
	all     sortedPairs
	ofClass map[int]*sortedPairs // the negative pairs that involve a class
	count   []int                // pushes on each entry of the matrix
}

// sortedPairs are negative pairs, as entries of the matrix, nearest first.
type sortedPairs struct {
	entry  []int
	prefix []float64 // prefix[k] is the sum of the first k values
	hits   []int     // hits[k]: positive pairs that push exactly the first k
}

// Columns is Batch.
func (*Quadruplet) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are triplets and quadruplets.
func (l *Quadruplet) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Quadruplet) about() about { return about{"quadruplet", quadrupletEntry, &l.paper} }

func (l *Quadruplet) fields(f *fields) {
	f.notNegative("Margin1", l.Margin1)
	f.notNegative("Margin2", l.Margin2)
	f.choice("Reduction", int(l.Reduction), "MeanNonZero", "MeanAll")
}

func (l *Quadruplet) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkSquare("quadruplet", grad); err != nil {
		return Result{}, err
	}
	l.triplet.Margin, l.triplet.Reduction = l.Margin1, l.Reduction
	r, err := l.triplet.eval(m, grad)
	if err != nil {
		return r, err
	}
	second := l.quadruplets(m, grad)
	return Result{Value: r.Value + second.Value, Active: r.Active + second.Active, Total: r.Total + second.Total}, nil
}

// quadruplets adds the second part. A positive pair of class c meets all
// negative pairs but those that involve c.
func (l *Quadruplet) quadruplets(m *Matrix, grad []float64) Result {
	l.sort(m)
	l.count = grow(l.count, len(m.V))
	clear(l.count)
	away := m.Away()
	var r Result
	for a, label := range m.RowLabels {
		own := l.ofClass[label]
		if own == nil {
			continue // no other class
		}
		for p, other := range m.RowLabels {
			if p == a || other != label {
				continue
			}
			x := away*m.V[a*m.Cols+p] + l.Margin2
			all, mine := l.all.nearer(l.values, x), own.nearer(l.values, x)
			active := all - mine
			r.Total += len(l.all.entry) - len(own.entry)
			r.Active += active
			r.Value += float64(active)*x - (l.all.prefix[all] - own.prefix[mine])
			l.count[a*m.Cols+p] += active
			l.all.hits[all]++
			own.hits[mine]++
		}
	}
	l.all.spread(l.count, -1)
	for _, pairs := range l.ofClass {
		pairs.spread(l.count, 1)
	}
	divisor := float64(r.Active)
	if l.Reduction == MeanAll {
		divisor = float64(r.Total)
	}
	if r.Active == 0 {
		return Result{Total: r.Total}
	}
	r.Value /= divisor
	for k, n := range l.count {
		if n != 0 {
			grad[k] += away * float64(n) / divisor
		}
	}
	return r
}

// sort fills the lists of negative pairs.
func (l *Quadruplet) sort(m *Matrix) {
	away := m.Away()
	l.values = grow(l.values, len(m.V))
	l.all.entry = l.all.entry[:0]
	for k, v := range m.V {
		l.values[k] = away * v
		if m.RowLabels[k/m.Cols] != m.ColLabels[k%m.Cols] {
			l.all.entry = append(l.all.entry, k)
		}
	}
	slices.SortFunc(l.all.entry, func(i, j int) int { return cmp.Compare(l.values[i], l.values[j]) })
	l.ofClass = map[int]*sortedPairs{}
	for _, k := range l.all.entry {
		for _, label := range []int{m.RowLabels[k/m.Cols], m.ColLabels[k%m.Cols]} {
			if l.ofClass[label] == nil {
				l.ofClass[label] = &sortedPairs{}
			}
			l.ofClass[label].entry = append(l.ofClass[label].entry, k)
		}
	}
	l.all.prepare(l.values)
	for _, pairs := range l.ofClass {
		pairs.prepare(l.values)
	}
}

func (s *sortedPairs) prepare(values []float64) {
	s.prefix, s.hits = grow(s.prefix, len(s.entry)+1), grow(s.hits, len(s.entry)+1)
	clear(s.hits)
	s.prefix[0] = 0
	for at, k := range s.entry {
		s.prefix[at+1] = s.prefix[at] + values[k]
	}
}

// nearer counts the pairs with values below x.
func (s *sortedPairs) nearer(values []float64, x float64) int {
	n, _ := slices.BinarySearchFunc(s.entry, x, func(k int, x float64) int { return cmp.Compare(values[k], x) })
	return n
}

// spread adds sign for every push to the counts of the pairs pushed.
func (s *sortedPairs) spread(count []int, sign int) {
	pushing := 0
	for at := len(s.entry) - 1; at >= 0; at-- {
		pushing += s.hits[at+1]
		count[s.entry[at]] += sign * pushing
	}
}

func quadrupletEntry(o Options) entry {
	y := raw(o)
	return entry{
		meaning: "triplets, and every positive pair closer than every negative pair of other classes",
		source:  "Chen et al. 2017, Eq. 7",
		settings: []setting{
			y.gap("margin1", "by how much the anchor's negatives must be farther", 0.1*y.unit()),
			y.gap("margin2", "by how much other negative pairs must be farther", 0.05*y.unit()),
			oneOf("reduction", "mean over terms above 0, or over all terms", "nonzero", "mean"),
		},
		build: func(v values) (Loss, error) {
			return &Quadruplet{Margin1: v.real("margin1"), Margin2: v.real("margin2"), Reduction: v.reduction()}, nil
		},
	}
}
