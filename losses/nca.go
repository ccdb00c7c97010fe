package losses

// NCA is neighborhood component analysis in a batch (Goldberger et al. 2004,
// Eq. 8): per row with positives
//
//	-log( sum over p of exp(-Scale*D(a,p)) / sum over all other rows j of exp(-Scale*D(a,j)) )
//
// mean over these rows. NCA proper has D squared Euclidean and Scale 1.
//
// The zero value has a Scale of 16 on distances of 1 - cosine, or on cosines. (NCA
// proper learns the scale of its distances; unit vectors leave it to Scale.)
type NCA struct {
	Scale float64

	paper    paper
	pos, neg []int
	all, own []float64
}

// Columns is Batch.
func (*NCA) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows with positives; those without
// negatives are not active.
func (l *NCA) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *NCA) about() about { return about{"nca", ncaEntry, &l.paper} }

func (l *NCA) fields(f *fields) { f.positive("Scale", l.Scale) }

func (l *NCA) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("nca", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	scale := -l.Scale * m.Away()
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		if len(l.pos) == 0 {
			continue
		}
		r.Total++
		if len(l.neg) == 0 {
			continue
		}
		r.Active++
		v, g := m.row(m.V, a), m.row(grad, a)
		l.own = gather(l.own, v, l.pos, scale)
		l.all = gather(l.all, v, l.neg, scale)
		right, wrong := logSumExp(l.own), logSumExp(l.all)
		value, slope := softplus(wrong - right)
		r.Value += value
		for k, p := range l.pos {
			g[p] = -slope * scale * l.own[k]
		}
		for k, q := range l.neg {
			g[q] = slope * scale * l.all[k]
		}
	}
	return r.mean(grad), nil
}

// gather returns scale*v at some columns.
func gather(out, v []float64, columns []int, scale float64) []float64 {
	out = grow(out, len(columns))
	for k, j := range columns {
		out[k] = scale * v[j]
	}
	return out
}

func ncaEntry(o Options) entry {
	return entry{
		meaning:  "probability that a soft nearest neighbor has the right class",
		source:   "Goldberger et al. 2004, Eq. 8",
		view:     AsSquared(o.Metric, o.Scale),
		shifts:   true,
		settings: []setting{positive("scale", "multiplies q = D^2/D0^2; 2 is the squared distance of unit vectors itself", 16)},
		build:    func(v values) (Loss, error) { return &NCA{Scale: v.real("scale")}, nil },
	}
}
