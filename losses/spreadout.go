package losses

import "math"

// SpreadOut asks negative pairs to be as far apart as random directions are
// (Zhang et al. 2017, Eq. 6): with s their similarities, of mean M1 and mean
// square M2,
//
//	M1^2 + [M2 - 1/Dim]+
//
// It goes beside a loss that draws positives together.
//
// Dim has to be set: the zero value is an error. It has no other constant.
type SpreadOut struct {
	Dim int // of the embedding

	paper    paper
	pos, neg []int
}

// Columns is Batch.
func (*SpreadOut) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are ordered negative pairs.
func (l *SpreadOut) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *SpreadOut) about() about { return about{"spread-out", spreadOutEntry, &l.paper} }

func (l *SpreadOut) fields(f *fields) {
	f.whole("Dim", l.Dim, 1, math.MaxInt32)
	f.needed()
}

func (l *SpreadOut) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("spread-out", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkSimilarity("spread-out"); err != nil {
		return Result{}, err
	}
	zero(grad)
	var r Result
	first, second := 0.0, 0.0
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		r.Total += len(l.neg)
		for _, q := range l.neg {
			s := m.V[a*m.Cols+q]
			first += s
			second += s * s
		}
	}
	if r.Total == 0 {
		return r, nil
	}
	r.Active = r.Total
	n := float64(r.Total)
	first, second = first/n, second/n
	excess := second - 1/float64(l.Dim)
	r.Value = first*first + hinge(excess)
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		g := m.row(grad, a)
		for _, q := range l.neg {
			g[q] = 2 * first / n
			if excess > 0 {
				g[q] += 2 * m.V[a*m.Cols+q] / n
			}
		}
	}
	return r, nil
}

func spreadOutEntry(o Options) entry {
	return entry{
		meaning: "negative pairs as far apart as random directions; goes beside another loss",
		source:  "Zhang et al. 2017, Eq. 6",
		view:    AsSimilarity(o.Metric, o.Scale),
		build: func(v values) (Loss, error) {
			dim, err := v.dimension()
			return &SpreadOut{Dim: dim}, err
		},
	}
}
