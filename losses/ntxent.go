package losses

// NTXent is the normalized temperature-scaled cross-entropy, also InfoNCE (Chen
// et al. 2020, Eq. 1; van den Oord et al. 2018): per ordered positive pair
//
//	-log( e^{s(a,p)/T} / (e^{s(a,p)/T} + sum over q of e^{s(a,q)/T}) )
//
// mean over the pairs. Other positives of the anchor are not in the
// denominator. It is N-pairs with temperature 1/T.
//
// The zero value has a temperature of 0.07, on cosines or on distances of
// 1 - cosine.
type NTXent struct {
	Temperature float64

	paper paper
	pairs NPairs
}

// Columns is Batch.
func (*NTXent) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are ordered positive pairs.
func (l *NTXent) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *NTXent) about() about { return about{"ntxent", ntXentEntry, &l.paper} }

func (l *NTXent) fields(f *fields) { f.positive("Temperature", l.Temperature) }

func (l *NTXent) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("ntxent", grad); err != nil {
		return Result{}, err
	}
	l.pairs.Temperature = 1 / l.Temperature
	return l.pairs.all(m, grad), nil
}

func ntXentEntry(o Options) entry {
	return entry{
		meaning:  "each positive against its anchor's negatives by a sharp softmax (InfoNCE)",
		source:   "Chen et al. 2020, Eq. 1",
		view:     AsSimilarity(o.Metric, o.Scale),
		shifts:   true,
		settings: []setting{positive("temperature", "divides s = 1 - D^2/D0^2", 0.07)},
		build:    func(v values) (Loss, error) { return &NTXent{Temperature: v.real("temperature")}, nil },
	}
}
