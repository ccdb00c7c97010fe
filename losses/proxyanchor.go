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
type ProxyAnchor struct {
	Alpha                float64
	PosMargin, NegMargin float64

	pos, neg logSums
}

// Columns is Classes.
func (*ProxyAnchor) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are the log-sums, one for every proxy with
// rows of its class and one for every proxy with rows of others.
func (l *ProxyAnchor) Eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("proxy-anchor", grad); err != nil {
		return Result{}, err
	}
	pull, push := l.Alpha*m.away(), -l.Alpha*m.away()
	l.pos.reset(m.Cols)
	l.neg.reset(m.Cols)
	for i, label := range m.RowLabels {
		v, g := m.row(m.V, i), m.row(grad, i)
		for j, class := range m.ColLabels {
			if class == label {
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
		for j, class := range m.ColLabels {
			if class == label {
				g[j] = l.pos.add(j, g[j])
			} else {
				g[j] = l.neg.add(j, g[j])
			}
		}
	}
	var r Result
	present := l.pos.used()
	posValue := l.pos.finish(pull / float64(max(present, 1)))
	negValue := l.neg.finish(push / float64(m.Cols))
	for i, label := range m.RowLabels {
		g := m.row(grad, i)
		for j, class := range m.ColLabels {
			if class == label {
				g[j] *= l.pos.scale[j]
			} else {
				g[j] *= l.neg.scale[j]
			}
		}
	}
	r.Value = posValue/float64(max(present, 1)) + negValue/float64(m.Cols)
	r.Active = present + l.neg.used()
	r.Total = r.Active
	return r, nil
}

func proxyAnchorEntry(o Options) entry {
	return entry{
		name:    "proxy-anchor",
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
