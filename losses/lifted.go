package losses

import "math"

// Lifted compares each positive pair with all negatives of both its ends
// (Oh Song et al. 2016, Eq. 4): with
//
//	J = log sum over q of (exp(NegMargin - D(a,q)) + exp(NegMargin - D(p,q))) + D(a,p) - PosMargin
//
// the loss is the mean of [J]+^2/2 over ordered positive pairs; the paper's
// PosMargin is 0. The matrix must be that of a batch with itself.
//
// The zero value has the paper's PosMargin 0 and NegMargin 1, on distances of unit
// vectors.
type Lifted struct {
	PosMargin, NegMargin float64

	paper    paper
	pos, neg []int
	logits   []float64
	lse      []float64 // of each row's negatives
	pull     []float64 // what the row's negatives share in its pairs' J
}

// Columns is Batch.
func (*Lifted) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are ordered positive pairs.
func (l *Lifted) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Lifted) about() about { return about{"lifted", liftedEntry, &l.paper} }

func (l *Lifted) fields(f *fields) {
	f.number("PosMargin", l.PosMargin)
	f.number("NegMargin", l.NegMargin)
}

func (l *Lifted) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkSquare("lifted", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	away := m.Away()
	l.lse, l.pull = grow(l.lse, m.Rows), grow(l.pull, m.Rows)
	clear(l.pull)
	for a := range m.Rows {
		l.negatives(m, a)
		l.lse[a] = logSumExp(l.logits)
	}
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		v, g := m.row(m.V, a), m.row(grad, a)
		for _, p := range l.pos {
			r.Total++
			if len(l.neg) == 0 {
				continue
			}
			both := logAdd(l.lse[a], l.lse[p])
			j := both + away*(v[p]-l.PosMargin)
			if j <= 0 {
				continue
			}
			r.Active++
			r.Value += j * j / 2
			g[p] += away * j
			l.pull[a] += j * math.Exp(l.lse[a]-both)
			l.pull[p] += j * math.Exp(l.lse[p]-both)
		}
	}
	for a := range m.Rows {
		if l.pull[a] == 0 {
			continue
		}
		l.negatives(m, a)
		logSumExp(l.logits)
		g := m.row(grad, a)
		for k, q := range l.neg {
			g[q] -= away * l.pull[a] * l.logits[k]
		}
	}
	return r.mean(grad), nil
}

// negatives fills the logits of row a's negatives.
func (l *Lifted) negatives(m *Matrix, a int) {
	l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
	l.logits = grow(l.logits, len(l.neg))
	for k, q := range l.neg {
		l.logits[k] = m.Away() * (l.NegMargin - m.V[a*m.Cols+q])
	}
}

// logAdd is log(exp a + exp b).
func logAdd(a, b float64) float64 {
	value, _ := softplus(b - a)
	return a + value
}

// liftedMargins are the margins of both lifted losses.
func (y yardstick) liftedMargins() []setting {
	return []setting{
		y.level("pos-margin", "distance below which positive pairs count less", 0),
		y.level("neg-margin", "distance to which negatives are pushed", 1),
	}
}

func liftedEntry(o Options) entry {
	y := onSphere(o)
	return entry{
		meaning:  "each positive pair against all negatives of both its ends",
		source:   "Oh Song et al. 2016, Eq. 4",
		view:     y.view,
		settings: y.liftedMargins(),
		build: func(v values) (Loss, error) {
			l := &Lifted{PosMargin: v.real("pos-margin"), NegMargin: v.real("neg-margin")}
			return l, y.ordered("pos-margin", l.PosMargin, "neg-margin", l.NegMargin)
		},
	}
}

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
		meaning:  "all positives of an anchor against all its negatives, softly",
		source:   "Hermans et al. 2017, Eq. 8",
		view:     y.view,
		settings: y.liftedMargins(),
		build: func(v values) (Loss, error) {
			l := &GeneralizedLifted{PosMargin: v.real("pos-margin"), NegMargin: v.real("neg-margin")}
			return l, y.ordered("pos-margin", l.PosMargin, "neg-margin", l.NegMargin)
		},
	}
}
