package pairs

import (
	"errors"
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/losses"
)

// Loss is on the pairs of a batch of which something is known:
//
//	mean over same pairs beyond U of (D - U)^2
//	+ mean over different pairs nearer than V of (V - D)^2
//	+ Triplet * mean over triplets of the positive part of D(a,p) - D(a,q) + Margin
//
// over ordered pairs of different rows, and over the triplets of which p is the same as a,
// and q is different: losses.Contrastive and losses.Triplet on what is known. For a
// similarity all differences change sign. Means are of terms above 0.
//
// NewLoss makes one; the zero value knows no pair and is an error.
type Loss struct {
	U, V, Margin float64
	Triplet      float64 // weight of the triplets; 0 for none
	Relations    *Relations

	items    []int
	relation []Relation // of rows, row-major
}

// NewLoss makes the loss with the margins that contrastive and triplet have for the
// metric. triplet is the weight of the triplets.
func NewLoss(r *Relations, triplet float64, o losses.Options) (*Loss, error) {
	o.Params = nil
	c, err := losses.New("contrastive", o)
	if err != nil {
		return nil, err
	}
	t, err := losses.New("triplet", o)
	if err != nil {
		return nil, err
	}
	contrastive, isC := c.(*losses.Contrastive)
	margin, isT := t.(*losses.Triplet)
	if !isC || !isT {
		return nil, errors.New("pairs: contrastive and triplet are not losses on the metric itself")
	}
	return &Loss{U: contrastive.U, V: contrastive.V, Margin: margin.Margin, Triplet: triplet, Relations: r}, nil
}

// Columns is losses.Batch.
func (*Loss) Columns() losses.Columns { return losses.Batch }

// SetItems says which items of the training set the rows of the next matrix are.
func (l *Loss) SetItems(items []int) error {
	l.items = append(l.items[:0], items...)
	return nil
}

// Eval implements losses.Loss. Its terms are the known pairs.
func (l *Loss) Eval(m *losses.Matrix, grad []float64) (losses.Result, error) {
	switch {
	case l.Relations == nil:
		return losses.Result{}, errors.New("pairs: Loss.Relations is nil")
	case m == nil || !m.SelfColumns || m.Cols != m.Rows || len(m.V) != m.Rows*m.Cols || len(grad) != len(m.V):
		return losses.Result{}, errors.New("pairs: the loss is on the matrix of a batch with itself, and needs a gradient of its size")
	case len(l.items) != m.Rows:
		return losses.Result{}, fmt.Errorf("pairs: the items of %d rows are known, the matrix has %d", len(l.items), m.Rows)
	}
	clear(grad)
	l.relate(m.Rows)
	var r losses.Result
	away := m.Away()
	for _, kind := range []Relation{Same, Different} {
		value, active, all := l.hinges(m, kind, away, grad)
		r.Value += value
		r.Active, r.Total = r.Active+active, r.Total+all
	}
	if l.Triplet > 0 {
		r.Value += l.triplets(m, away, grad)
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return r, fmt.Errorf("pairs: the sum %v is %w: values are too large", r.Value, losses.ErrNotFinite)
	}
	return r, nil
}

// relate looks up what is known of all rows.
func (l *Loss) relate(n int) {
	if cap(l.relation) < n*n {
		l.relation = make([]Relation, n*n)
	}
	l.relation = l.relation[:n*n]
	for i, a := range l.items {
		l.relation[i*n+i] = Unknown
		for j, b := range l.items[:i] {
			of := l.Relations.Of(a, b)
			l.relation[i*n+j], l.relation[j*n+i] = of, of
		}
	}
}

// hinges adds the terms of one kind of pair to the gradient, and returns their mean.
func (l *Loss) hinges(m *losses.Matrix, kind Relation, away float64, grad []float64) (value float64, active, all int) {
	excess := func(v float64) float64 {
		if kind == Same {
			return away * (v - l.U)
		}
		return away * (l.V - v)
	}
	slope := away
	if kind == Different {
		slope = -away
	}
	for k, of := range l.relation {
		if of != kind {
			continue
		}
		all++
		if x := excess(m.V[k]); x > 0 {
			active++
			value += x * x
		}
	}
	if active == 0 {
		return 0, 0, all
	}
	for k, of := range l.relation {
		if of != kind {
			continue
		}
		if x := excess(m.V[k]); x > 0 {
			grad[k] += 2 * slope * x / float64(active)
		}
	}
	return value / float64(active), active, all
}

// triplets adds those above 0 to the gradient, and returns their weighted mean.
func (l *Loss) triplets(m *losses.Matrix, away float64, grad []float64) float64 {
	sum, active := 0., 0
	each := func(do func(p, q int, x float64)) {
		for a := range m.Rows {
			row := l.relation[a*m.Cols : (a+1)*m.Cols]
			for p, is := range row {
				if is != Same {
					continue
				}
				for q, is := range row {
					if is != Different {
						continue
					}
					p, q := a*m.Cols+p, a*m.Cols+q
					if x := away*(m.V[p]-m.V[q]) + l.Margin; x > 0 {
						do(p, q, x)
					}
				}
			}
		}
	}
	each(func(_, _ int, x float64) { sum, active = sum+x, active+1 })
	if active == 0 {
		return 0
	}
	w := l.Triplet / float64(active)
	each(func(p, q int, _ float64) {
		grad[p] += w * away
		grad[q] -= w * away
	})
	return w * sum
}
