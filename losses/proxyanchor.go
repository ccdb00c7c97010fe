package losses

// ProxyAnchor uses each class's proxy as an anchor for the whole batch (Kim et
// al. 2020, Eq. 4). For a similarity s, with P+ the proxies that have a row of
// their class and P all of them,
//
//	1/|P+| sum over P+ of log(1 + sum over its rows of exp(-Alpha*(s - PosMargin)))
//	+ 1/|P| sum over P of log(1 + sum over other rows of exp(Alpha*(s - NegMargin)))
//
// The paper's delta is PosMargin = delta, NegMargin = -delta. For a distance
// both exponents change sign: BRM Sect. 4.2's temperature 16 and margins 1.8
// and 2.2 on squared Euclidean distance are the paper's 32 and 0.1 on a cosine.
//
// The zero value has the paper's Alpha 32 and delta 0.1, on cosines.
type ProxyAnchor struct {
	Alpha                float64
	PosMargin, NegMargin float64

	paper    paper
	pos, neg logSums
}

// Columns is Classes.
func (*ProxyAnchor) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are the log-sums, one for every proxy with
// rows of its class and one for every proxy with rows of others.
func (l *ProxyAnchor) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *ProxyAnchor) about() about { return about{"proxy-anchor", proxyAnchorEntry, &l.paper} }

func (l *ProxyAnchor) fields(f *fields) {
	f.positive("Alpha", l.Alpha)
	f.number("PosMargin", l.PosMargin)
	f.number("NegMargin", l.NegMargin)
}

func (l *ProxyAnchor) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("proxy-anchor", grad); err != nil {
		return Result{}, err
	}
	l.pos.reset(m.Cols)
	l.neg.reset(m.Cols)
	spread(m.Cols, len(m.V), func(_, from, to int) { l.exponentials(m, grad, from, to) })
	pull, push := l.Alpha*m.Away(), -l.Alpha*m.Away()
	present := max(l.pos.used(), 1)
	value := l.pos.finish(pull/float64(present))/float64(present) + l.neg.finish(push/float64(m.Cols))/float64(m.Cols)
	spread(m.Cols, len(m.V), func(_, from, to int) {
		for i, label := range m.RowLabels {
			g := m.row(grad, i)
			for j := from; j < to; j++ {
				if m.ColLabels[j] == label {
					g[j] *= l.pos.scale[j]
				} else {
					g[j] *= l.neg.scale[j]
				}
			}
		}
	})
	terms := l.pos.used() + l.neg.used()
	return Result{Value: value, Active: terms, Total: terms}, nil
}

// exponentials sums up the exponentials of columns from to to-1 and leaves them
// in grad.
func (l *ProxyAnchor) exponentials(m *Matrix, grad []float64, from, to int) {
	pull, push := l.Alpha*m.Away(), -l.Alpha*m.Away()
	for i, label := range m.RowLabels {
		v, g := m.row(m.V, i), m.row(grad, i)
		for j := from; j < to; j++ {
			if m.ColLabels[j] == label {
				g[j] = pull * (v[j] - l.PosMargin)
				l.pos.see(j, g[j])
			} else {
				g[j] = push * (v[j] - l.NegMargin)
				l.neg.see(j, g[j])
			}
		}
	}
	for i, label := range m.RowLabels {
		g := m.row(grad, i)
		for j := from; j < to; j++ {
			if m.ColLabels[j] == label {
				g[j] = l.pos.add(j, g[j])
			} else {
				g[j] = l.neg.add(j, g[j])
			}
		}
	}
}

func proxyAnchorEntry(o Options) entry {
	return entry{
		meaning: "each class's proxy pulls its rows and pushes the others, the hardest most",
		source:  "Kim et al. 2020, Eq. 4",
		columns: Classes,
		view:    AsSimilarity(o.Metric, o.Scale),
		settings: []setting{
			positive("alpha", "how much the hardest rows outweigh the others", 32),
			between("delta", "margin on s = 1 - D^2/D0^2, which stands for the cosine", 0.1, 0, 1, false, true),
		},
		build: func(v values) (Loss, error) {
			delta := v.real("delta")
			return &ProxyAnchor{Alpha: v.real("alpha"), PosMargin: delta, NegMargin: -delta}, nil
		},
	}
}
