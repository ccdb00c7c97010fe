package losses

import (
	"fmt"
	"math"
)

// Margin puts a boundary between positive and negative pairs (Wu et al. 2017,
// Eq. 4 to 6): over all triplets (a,p,q)
//
//	[Margin + D(a,p) - beta]+ + [Margin + beta - D(a,q)]+
//
// divided by the number of terms above 0, where beta is Beta[0] or, with
// several, that of the anchor's class. With Learn the boundary is a parameter, and
// Nu times it is added: for one boundary Nu*Beta[0], else the sum over triplets of
// Nu*beta over the same divisor.
//
// Beta has to be set, since it is the memory of what is learned: the zero value is an
// error. In the paper Margin is 0.2 and every boundary starts at 1.2, on distances
// of unit vectors. With Learn whoever trains the loss writes to Beta.
type Margin struct {
	Margin float64
	Beta   []float64
	Learn  bool
	Nu     float64

	paper    paper
	gradBeta []float64
	pos, neg []int
	anchors  []float64 // triplets of each class
}

// Columns is Batch.
func (*Margin) Columns() Columns { return Batch }

// Parameters returns the boundary, if it is learned.
func (l *Margin) Parameters() []Param {
	if !l.Learn {
		return nil
	}
	l.gradBeta = grow(l.gradBeta, len(l.Beta))
	return []Param{{Name: "beta", Shape: []int{len(l.Beta)}, Value: l.Beta, Grad: l.gradBeta}}
}

// Eval implements Loss. Its terms are the hinges, two for each triplet.
func (l *Margin) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Margin) about() about { return about{"margin", marginEntry, &l.paper} }

func (l *Margin) fields(f *fields) {
	f.numbers("Beta", l.Beta, "one boundary, or one for each class")
	f.needed()
	f.notNegative("Margin", l.Margin)
	f.flag(l.Learn)
	f.notNegative("Nu", l.Nu)
}

func (l *Margin) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("margin", grad); err != nil {
		return Result{}, err
	}
	for i, label := range m.RowLabels {
		if len(l.Beta) != 1 && label >= len(l.Beta) {
			return Result{}, fmt.Errorf("losses: margin: row %d has label %d, but there are boundaries for classes 0..%d", i, label, len(l.Beta)-1)
		}
	}
	zero(grad)
	l.gradBeta = grow(l.gradBeta, len(l.Beta))
	l.anchors = grow(l.anchors, len(l.Beta))
	clear(l.gradBeta)
	clear(l.anchors)
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		triplets := len(l.pos) * len(l.neg)
		if triplets == 0 {
			continue
		}
		r.Total += 2 * triplets
		b := l.boundary(m.RowLabels[a])
		l.anchors[b] += float64(triplets)
		l.side(m, grad, a, b, l.pos, len(l.neg), 1, &r)
		l.side(m, grad, a, b, l.neg, len(l.pos), -1, &r)
	}
	divisor := float64(r.Active)
	r = r.over(grad, divisor)
	if divisor == 0 {
		clear(l.gradBeta)
		return r, nil
	}
	for b := range l.gradBeta {
		l.gradBeta[b] /= divisor
	}
	if l.Learn {
		r.Value += l.penalty(divisor)
	}
	return r, nil
}

// boundary is the index of a class's beta.
func (l *Margin) boundary(label int) int {
	if len(l.Beta) == 1 {
		return 0
	}
	return label
}

// side adds the hinges of an anchor's positives (sign 1) or negatives (-1),
// each as often as there are partners that make a triplet of it.
func (l *Margin) side(m *Matrix, grad []float64, a, b int, columns []int, times int, sign float64, r *Result) {
	v, g := m.row(m.V, a), m.row(grad, a)
	slope := sign * m.Away()
	for _, j := range columns {
		excess := slope*(v[j]-l.Beta[b]) + l.Margin
		if excess <= 0 {
			continue
		}
		r.Active += times
		r.Value += float64(times) * excess
		g[j] = float64(times) * slope
		l.gradBeta[b] -= float64(times) * slope
	}
}

// penalty returns what Nu adds, and adds its gradient.
func (l *Margin) penalty(divisor float64) float64 {
	if len(l.Beta) == 1 {
		l.gradBeta[0] += l.Nu
		return l.Nu * l.Beta[0]
	}
	value := 0.0
	for b, triplets := range l.anchors {
		value += l.Nu * l.Beta[b] * triplets / divisor
		l.gradBeta[b] += l.Nu * triplets / divisor
	}
	return value
}

func marginEntry(o Options) entry {
	y := onSphere(o)
	return entry{
		meaning: "positive pairs inside a boundary, negative pairs outside; the boundary can be learned",
		source:  "Wu et al. 2017, Eq. 4-6",
		view:    y.view,
		settings: []setting{
			y.gap("margin", "clear room on both sides of the boundary", 0.2),
			y.level("beta", "the boundary, or where it starts", 1.2),
			oneOf("learn", "one boundary learned, one for each class, or fixed", "one", "class", "none"),
			between("nu", "what learned boundaries cost", 0, 0, math.Inf(1), false, true),
		},
		build: func(v values) (Loss, error) {
			l := &Margin{Margin: v.real("margin"), Learn: v.word("learn") != "none", Nu: v.real("nu")}
			boundaries := 1
			if v.word("learn") == "class" {
				n, err := v.perClass()
				if err != nil {
					return nil, err
				}
				boundaries = n
			}
			for range boundaries {
				l.Beta = append(l.Beta, v.real("beta"))
			}
			return l, nil
		},
	}
}
