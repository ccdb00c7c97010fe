package losses

import "math"

// GeneralizedLifted is the lifted structure loss with all positives of an
// anchor at once (Hermans, Beyer and Leibe 2017, Eq. 8): per row
//
//	[lse over p of (D(a,p) - PosMargin) + lse over q of (NegMargin - D(a,q))]+
//
// mean over all rows. The lse of no pairs counts 0.
//
// The zero value has PosMargin 0 and NegMargin 1, on distances of unit vectors.
type GeneralizedLifted struct {
	PosMargin, NegMargin float64

	paper    paper
	pos, neg []int
	lp, ln   []float64
}

// Columns is Batch.
func (*GeneralizedLifted) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows.
func (l *GeneralizedLifted) Eval(m *Matrix, grad []float64) (Result, error) {
	return evaluate(l, m, grad)
}

func (l *GeneralizedLifted) about() about {
	return about{"generalized-lifted", generalizedLiftedEntry, &l.paper}
}

func (l *GeneralizedLifted) fields(f *fields) {
	f.number("PosMargin", l.PosMargin)
	f.number("NegMargin", l.NegMargin)
}

func (l *GeneralizedLifted) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("generalized-lifted", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	away := m.Away()
	r := Result{Total: m.Rows}
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		v, g := m.row(m.V, a), m.row(grad, a)
		l.lp, l.ln = grow(l.lp, len(l.pos)), grow(l.ln, len(l.neg))
		for k, p := range l.pos {
			l.lp[k] = away * (v[p] - l.PosMargin)
		}
		for k, q := range l.neg {
			l.ln[k] = away * (l.NegMargin - v[q])
		}
		value := orZero(logSumExp(l.lp)) + orZero(logSumExp(l.ln))
		if value <= 0 {
			continue
		}
		r.Active++
		r.Value += value
		for k, p := range l.pos {
			g[p] = away * l.lp[k]
		}
		for k, q := range l.neg {
			g[q] = -away * l.ln[k]
		}
	}
	return r.mean(grad), nil
}

// orZero is x, or 0 for the log-sum-exp of nothing.
func orZero(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return x
}

func generalizedLiftedEntry(o Options) entry {
	y := onSphere(o)
	return entry{
		meaning: "all positives of an anchor against all its negatives, softly",
		source:  "Hermans et al. 2017, Eq. 8",
		view:    y.view,
		settings: []setting{
			y.level("pos-margin", "distance below which positive pairs count less", 0),
			y.level("neg-margin", "distance to which negatives are pushed", 1),
		},
		build: func(v values) (Loss, error) {
			l := &GeneralizedLifted{PosMargin: v.real("pos-margin"), NegMargin: v.real("neg-margin")}
			return l, y.ordered("pos-margin", l.PosMargin, "neg-margin", l.NegMargin)
		},
	}
}
