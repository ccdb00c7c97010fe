package losses

import (
	"maps"
	"slices"
)

// NPairs compares every positive with all negatives of its anchor at once
// (Sohn 2016, Eq. 6; BRM Sect. 4.2):
//
//	log(1 + sum over q of exp(Temperature * (D(a,p) - D(a,q))))
//
// for a distance; for a similarity the difference changes sign. The loss is
// the mean over ordered positive pairs (a,p), q running over all columns of
// other labels. A temperature of 1 suits values with a range of many units; on
// a distance below 1 it learns little.
//
// The zero value has a temperature of 16, on distances of 1 - cosine or on cosines.
type NPairs struct {
	Temperature float64
	// Classic takes one pair a class with at least two rows: its first row is
	// the anchor, its second the positive, and the negatives are the positives
	// of the other such classes. The matrix must be that of a batch with itself.
	Classic bool

	paper            paper
	logits           []float64
	values           []float64 // of rows
	pos, neg         []int
	anchors, partner []int
}

// Columns is Batch.
func (*NPairs) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are positive pairs; those whose anchor has
// no negative are not active.
func (n *NPairs) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(n, m, grad) }

func (n *NPairs) byRows() bool { return !n.Classic }

func (n *NPairs) about() about { return about{"npairs", npairsEntry, &n.paper} }

func (n *NPairs) fields(f *fields) {
	f.positive("Temperature", n.Temperature)
	f.flag(n.Classic)
}

func (n *NPairs) eval(m *Matrix, grad []float64) (Result, error) {
	if n.Classic {
		return n.classic(m, grad)
	}
	if err := m.check("npairs", grad); err != nil {
		return Result{}, err
	}
	return n.all(m, grad), nil
}

// all is the loss over all ordered positive pairs.
func (n *NPairs) all(m *Matrix, grad []float64) Result {
	zero(grad)
	var r Result
	n.values = grow(n.values, m.Rows)
	for a := range m.Rows {
		n.pos, n.neg = m.split(a, n.pos[:0], n.neg[:0])
		n.values[a] = n.pair(m, grad, a, n.pos, n.neg, &r)
	}
	r.count(m)
	r.Value = m.sum(n.values)
	return r.mean(grad)
}

// pair counts the terms of anchor a, sets their gradient, and returns their sum, unreduced.
func (n *NPairs) pair(m *Matrix, grad []float64, a int, pos, neg []int, r *Result) (sum float64) {
	r.Total += len(pos)
	if len(pos) == 0 || len(neg) == 0 {
		return 0
	}
	r.Active += len(pos)
	scale := n.Temperature * m.Away()
	v, g := m.row(m.V, a), m.row(grad, a)
	n.logits = grow(n.logits, len(neg))
	for k, q := range neg {
		n.logits[k] = -scale * v[q]
	}
	negatives := logSumExp(n.logits)
	pull := 0.0
	for _, p := range pos {
		value, slope := softplus(scale*v[p] + negatives)
		sum += value
		g[p] += scale * slope
		pull += slope
	}
	for k, q := range neg {
		g[q] -= scale * pull * n.logits[k]
	}
	return sum
}

func (n *NPairs) classic(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkSquare("npairs (classic)", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	n.anchors, n.partner = firstTwo(m.RowLabels, n.anchors[:0], n.partner[:0])
	var r Result
	for k, a := range n.anchors {
		n.neg = append(append(n.neg[:0], n.partner[:k]...), n.partner[k+1:]...)
		r.Value += n.pair(m, grad, a, n.partner[k:k+1], n.neg, &r)
	}
	return r.mean(grad), nil
}

// firstTwo appends the first and the second row of every class that has two,
// in ascending order of label.
func firstTwo(labels, first, second []int) ([]int, []int) {
	rows := map[int][2]int{} // one based
	for i, label := range labels {
		r := rows[label]
		switch {
		case r[0] == 0:
			r[0] = i + 1
		case r[1] == 0:
			r[1] = i + 1
		}
		rows[label] = r
	}
	for _, label := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[label]; r[1] > 0 {
			first, second = append(first, r[0]-1), append(second, r[1]-1)
		}
	}
	return first, second
}

func npairsEntry(o Options) entry {
	return entry{
		meaning: "each positive against all negatives of its anchor at once",
		source:  "Sohn 2016, Eq. 6",
		view:    AsSquared(o.Metric, o.Scale),
		shifts:  true,
		settings: []setting{
			positive("temperature", "multiplies q = D^2/D0^2, which stands for 1 - cosine", 16),
			oneOf("pairs", "all ordered positive pairs, or one pair a class", "all", "classic"),
		},
		build: func(v values) (Loss, error) {
			return &NPairs{Temperature: v.real("temperature"), Classic: v.word("pairs") == "classic"}, nil
		},
	}
}
