package losses

// CosFace is classification with the own class's similarity lowered by a
// margin (Wang et al. 2018, Eq. 4): the mean over rows of the cross-entropy of
// Scale*(s - Margin for the own class).
//
// The zero value has the authors' scale 64 and margin 0.35, on cosines or on
// distances of 1 - cosine.
type CosFace struct {
	Scale, Margin float64

	paper   paper
	columns []int
}

// Columns is Classes.
func (*CosFace) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are rows.
func (l *CosFace) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *CosFace) about() about { return about{"cosface", cosFaceEntry, &l.paper} }

func (l *CosFace) fields(f *fields) {
	f.positive("Scale", l.Scale)
	f.notNegative("Margin", l.Margin)
}

func (l *CosFace) eval(m *Matrix, grad []float64) (Result, error) {
	return softmaxLoss("cosface", m, grad, &l.columns, l.Scale, func(s float64) (float64, float64) { return s - l.Margin, 1 })
}

func cosFaceEntry(o Options) entry {
	return entry{
		meaning: "classification with a margin on the own class's similarity",
		source:  "Wang et al. 2018, Eq. 4",
		columns: Classes,
		view:    AsSimilarity(o.Metric, o.Scale),
		shifts:  true,
		settings: []setting{
			positive("scale", "multiplies s = 1 - D^2/D0^2", 64),
			between("margin", "taken from the own class's s", 0.35, 0, 2, false, true),
		},
		build: func(v values) (Loss, error) {
			return &CosFace{Scale: v.real("scale"), Margin: v.real("margin")}, nil
		},
	}
}
