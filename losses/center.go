package losses

// Center draws each row to its class's center (Wen et al. 2016, Eq. 2): the mean
// over rows of D(a, own center). Alone it is least when everything collapses;
// it goes beside a loss that separates. With q = D^2/D0^2 in place of D it is
// the paper's half squared distance of unit vectors.
type Center struct {
	columns []int
}

// Columns is Classes.
func (*Center) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are rows.
func (l *Center) Eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("center", grad); err != nil {
		return Result{}, err
	}
	columns, err := classGroups("center", m, 1, l.columns)
	if err != nil {
		return Result{}, err
	}
	l.columns = columns
	zero(grad)
	away := m.Away()
	r := Result{Active: m.Rows, Total: m.Rows}
	for i, label := range m.RowLabels {
		k := i*m.Cols + columns[label]
		r.Value += away * m.V[k]
		grad[k] = away
	}
	r = r.mean(grad)
	return r, checkValue("center", r.Value)
}

// IsCenter reports whether a loss's class rows are to be the means of their
// classes.
func IsCenter(l Loss) bool {
	if v, ok := l.(*viewed); ok {
		return IsCenter(v.loss)
	}
	_, ok := l.(*Center)
	return ok
}

func centerEntry(o Options) entry {
	return entry{
		meaning: "each row to its class's center; goes beside a loss that separates",
		source:  "Wen et al. 2016, Eq. 2",
		columns: Classes,
		view:    AsSquared(o.Metric, o.Scale),
		build:   func(values) (Loss, error) { return &Center{}, nil },
	}
}
