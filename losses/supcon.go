package losses

// SupCon asks each positive to stand out from all other rows (Khosla et al.
// 2020, Eq. 2): per row with positives
//
//	-mean over p of (s(a,p)/T - lse over all other rows j of s(a,j)/T)
//
// mean over the rows above 0. Unlike in NTXent, the other positives are in the
// denominator.
//
// The zero value has the paper's temperature 0.1, on cosines or on distances of
// 1 - cosine.
type SupCon struct {
	Temperature float64

	paper            paper
	pos, neg, others []int
	logits           []float64
	values           []float64 // of rows
}

// Columns is Batch.
func (*SupCon) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows with positives.
func (l *SupCon) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *SupCon) byRows() bool { return true }

func (l *SupCon) about() about { return about{"supcon", supConEntry, &l.paper} }

func (l *SupCon) fields(f *fields) { f.positive("Temperature", l.Temperature) }

func (l *SupCon) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("supcon", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	l.values = grow(l.values, m.Rows)
	clear(l.values)
	scale := -m.Away() / l.Temperature
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		if len(l.pos) == 0 {
			continue
		}
		r.Total++
		v, g := m.row(m.V, a), m.row(grad, a)
		l.others = append(append(l.others[:0], l.pos...), l.neg...)
		l.logits = grow(l.logits, len(l.others))
		mean := 0.0
		share := 1 / float64(len(l.pos))
		for k, j := range l.others {
			l.logits[k] = scale * v[j]
			if k < len(l.pos) {
				mean += share * l.logits[k]
			}
		}
		value := logSumExp(l.logits) - mean
		if value <= 0 || len(l.others) == 1 {
			continue
		}
		r.Active++
		l.values[a] = value
		for k, j := range l.others {
			g[j] = scale * l.logits[k]
			if k < len(l.pos) {
				g[j] -= scale * share
			}
		}
	}
	r.count(m)
	r.Value = m.sum(l.values)
	return r.over(grad, float64(r.Active)), nil
}

func supConEntry(o Options) entry {
	return entry{
		meaning:  "each positive against all other rows, mean over an anchor's positives",
		source:   "Khosla et al. 2020, Eq. 2",
		view:     AsSimilarity(o.Metric, o.Scale),
		shifts:   true,
		settings: []setting{positive("temperature", "divides s = 1 - D^2/D0^2", 0.1)},
		build:    func(v values) (Loss, error) { return &SupCon{Temperature: v.real("temperature")}, nil },
	}
}
