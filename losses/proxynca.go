package losses

import (
	"fmt"
	"math"
)

// ProxyNCA compares each row with one proxy a class (Movshovitz-Attias et al.
// 2017, Eq. 4; Teh, DeVries and Taylor 2020): with p(c) the softmax over proxies
// c of -Scale*D(a,c),
//
//	-(1-Smoothing) log p(own) - Smoothing/(C-1) sum over other classes c of log p(c)
//
// mean over rows. Squared distances of rows of length sx and proxies of length
// sp (the authors' scaling) are Scale = sx*sp on those of unit rows.
//
// The zero value has a Scale of 18 on distances of 1 - cosine, or on cosines: the
// temperature 1/9 of proxy-NCA++ on squared distances of unit vectors.
type ProxyNCA struct {
	Scale     float64
	Smoothing float64
	// OthersOnly leaves the own proxy out of the denominator, as the first
	// paper writes it. The loss can then be negative. Smoothing must be 0.
	OthersOnly bool

	paper   paper
	columns []int
}

// Columns is Classes.
func (*ProxyNCA) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are rows.
func (l *ProxyNCA) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *ProxyNCA) about() about { return about{"proxy-nca", proxyNCAEntry, &l.paper} }

func (l *ProxyNCA) fields(f *fields) {
	f.positive("Scale", l.Scale)
	f.in("Smoothing", l.Smoothing, interval{low: 0, high: 1, openHigh: true})
	f.flag(l.OthersOnly)
}

func (l *ProxyNCA) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("proxy-nca", grad); err != nil {
		return Result{}, err
	}
	if l.OthersOnly && l.Smoothing != 0 {
		return Result{}, fmt.Errorf("losses: proxy-nca: smoothing is %v without the own proxy in the denominator; one of the two must go", l.Smoothing)
	}
	columns, err := classGroups("proxy-nca", m, 1, l.columns)
	if err != nil {
		return Result{}, err
	}
	l.columns = columns
	if m.Cols == 1 {
		zero(grad)
		return Result{Total: m.Rows}, nil // nothing to be distinguished from
	}
	scale := -l.Scale * m.Away()
	values := make([]float64, m.Rows)
	spread(m.Rows, len(m.V), func(_, from, to int) {
		for i := from; i < to; i++ {
			g := m.row(grad, i)
			for j, x := range m.row(m.V, i) {
				g[j] = scale * x
			}
			own := columns[m.RowLabels[i]]
			if l.OthersOnly {
				values[i] = l.others(g, own)
			} else {
				values[i] = l.smoothed(g, own)
			}
			for j := range g {
				g[j] *= scale / float64(m.Rows)
			}
		}
	})
	return Result{Value: sum(values) / float64(m.Rows), Active: m.Rows, Total: m.Rows}, nil
}

// smoothed returns the cross-entropy of one row's logits against smoothed
// targets and turns them into its gradient.
func (l *ProxyNCA) smoothed(logits []float64, own int) float64 {
	rest := l.Smoothing / float64(len(logits)-1)
	mean := (1 - l.Smoothing) * logits[own] // of the logits under the targets
	if l.Smoothing != 0 {
		mean += rest * (sum(logits) - logits[own])
	}
	value := logSumExp(logits) - mean
	for j := range logits {
		logits[j] -= rest
	}
	logits[own] -= 1 - l.Smoothing - rest
	return value
}

// others returns -log of the own exponential over the sum of the others' and
// turns the logits into its gradient.
func (l *ProxyNCA) others(logits []float64, own int) float64 {
	mine := logits[own]
	logits[own] = math.Inf(-1)
	value := logSumExp(logits) - mine
	logits[own] = -1
	return value
}

func proxyNCAEntry(o Options) entry {
	return entry{
		meaning: "softmax over one proxy a class of the squared distances (also proxy-NCA++)",
		source:  "Movshovitz-Attias et al. 2017, Eq. 4; Teh et al. 2020",
		columns: Classes,
		view:    AsSquared(o.Metric, o.Scale),
		shifts:  true,
		settings: []setting{
			positive("scale", "multiplies q = D^2/D0^2; 18 is a temperature of 1/9 on squared distances of unit vectors", 18),
			between("smoothing", "share of the target that the other classes get", 0, 0, 1, false, true),
			oneOf("denominator", "all proxies, or the others only as the first paper has it", "all", "others"),
		},
		build: func(v values) (Loss, error) {
			l := &ProxyNCA{Scale: v.real("scale"), Smoothing: v.real("smoothing"), OthersOnly: v.word("denominator") == "others"}
			if l.OthersOnly && l.Smoothing != 0 {
				return nil, fmt.Errorf("smoothing = %s wants denominator = all", format(l.Smoothing))
			}
			return l, nil
		},
	}
}
