package losses

import "math"

// Circle gives each similarity its own weight, by how far it is from its
// optimum (Sun et al. 2020, Eq. 6 to 8 with the paper's single margin M):
//
//	softplus(lse over p of -Gamma*[1+M-s(a,p)]+ * (s(a,p) - 1 + M)
//	       + lse over q of  Gamma*[s(a,q)+M]+ * (s(a,q) - M))
//
// per row with positives and negatives, mean over the rows above 0. The weights
// []+ are constants for the gradient, as the paper has it: finite differences do
// not agree with it.
//
// The zero value has M 0.4 and Gamma 80, on cosines.
type Circle struct {
	M, Gamma float64

	paper    paper
	pos, neg []int
	lp, ln   []float64
	wp, wn   []float64
}

// Columns is Batch.
func (*Circle) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows with positives and negatives.
func (l *Circle) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Circle) about() about { return about{"circle", circleEntry, &l.paper} }

func (l *Circle) fields(f *fields) {
	f.in("M", l.M, interval{low: 0, high: 1, openHigh: true})
	f.positive("Gamma", l.Gamma)
}

func (l *Circle) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("circle", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkSimilarity("circle"); err != nil {
		return Result{}, err
	}
	zero(grad)
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		if len(l.pos) == 0 || len(l.neg) == 0 {
			continue
		}
		r.Total++
		value := l.anchor(m.row(m.V, a), m.row(grad, a))
		if value > 0 {
			r.Active++
			r.Value += value
		}
	}
	return r.over(grad, float64(r.Active)), nil
}

func (l *Circle) anchor(v, g []float64) float64 {
	l.lp, l.wp = grow(l.lp, len(l.pos)), grow(l.wp, len(l.pos))
	l.ln, l.wn = grow(l.ln, len(l.neg)), grow(l.wn, len(l.neg))
	for k, p := range l.pos {
		l.wp[k] = -l.Gamma * math.Max(1+l.M-v[p], 0)
		l.lp[k] = l.wp[k] * (v[p] - 1 + l.M)
	}
	for k, q := range l.neg {
		l.wn[k] = l.Gamma * math.Max(v[q]+l.M, 0)
		l.ln[k] = l.wn[k] * (v[q] - l.M)
	}
	value, slope := softplus(logSumExp(l.lp) + logSumExp(l.ln))
	for k, p := range l.pos {
		g[p] = slope * l.lp[k] * l.wp[k]
	}
	for k, q := range l.neg {
		g[q] = slope * l.ln[k] * l.wn[k]
	}
	return value
}

func circleEntry(o Options) entry {
	y := onSimilarity(o)
	return entry{
		meaning: "each pair weighed by how far its similarity is from its optimum",
		source:  "Sun et al. 2020, Eq. 6-8",
		view:    y.view,
		settings: []setting{
			between("m", "relaxation: optima are 1+m and -m, margins 1-m and m", 0.4, 0, 1, true, true),
			positive("gamma", "scale", 80),
		},
		build: func(v values) (Loss, error) { return &Circle{M: v.real("m"), Gamma: v.real("gamma")}, nil },
	}
}
