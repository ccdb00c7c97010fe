package losses

import (
	"github.com/vernier-ml/vernier/metric"
)

// NormalizedSoftmax is classification by class rows (Zhai and Wu 2019, Eq. 2):
// the mean over rows of the cross-entropy of s/Temperature, s being the
// similarities to one row a class. On dot products of raw embeddings, at
// temperature 1, it is the plain linear classifier without bias.
//
// The zero value has the paper's temperature 0.05, on cosines or on distances of
// 1 - cosine.
type NormalizedSoftmax struct {
	Temperature float64

	paper   paper
	columns []int
}

// Columns is Classes.
func (*NormalizedSoftmax) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are rows.
func (l *NormalizedSoftmax) Eval(m *Matrix, grad []float64) (Result, error) {
	return evaluate(l, m, grad)
}

func (l *NormalizedSoftmax) about() about {
	return about{"normalized-softmax", normalizedSoftmaxEntry, &l.paper}
}

func (l *NormalizedSoftmax) fields(f *fields) { f.positive("Temperature", l.Temperature) }

func (l *NormalizedSoftmax) eval(m *Matrix, grad []float64) (Result, error) {
	return softmaxLoss("normalized-softmax", m, grad, &l.columns, 1/l.Temperature, func(s float64) (float64, float64) { return s, 1 })
}

// softmaxLoss is the mean cross-entropy of scale times the similarities, where
// own changes that to the own class; it also returns its derivative.
func softmaxLoss(name string, m *Matrix, grad []float64, columns *[]int, scale float64, own func(s float64) (y, slope float64)) (Result, error) {
	if err := m.checkClasses(name, grad); err != nil {
		return Result{}, err
	}
	byClass, err := classGroups(name, m, 1, *columns)
	if err != nil {
		return Result{}, err
	}
	*columns = byClass
	direction := -m.Away()
	values := make([]float64, m.Rows)
	spread(m.Rows, len(m.V), func(_, from, to int) {
		for i := from; i < to; i++ {
			v, g := m.row(m.V, i), m.row(grad, i)
			for k, x := range v {
				g[k] = scale * direction * x
			}
			j := byClass[m.RowLabels[i]]
			y, slope := own(direction * v[j])
			g[j] = scale * y
			values[i] = crossEntropy(g, j)
			g[j] *= slope
			for k := range g {
				g[k] *= scale * direction / float64(m.Rows)
			}
		}
	})
	return Result{Value: sum(values) / float64(m.Rows), Active: m.Rows, Total: m.Rows}, nil
}

func normalizedSoftmaxEntry(o Options) entry {
	return entry{
		meaning:  "classification by similarity to one row a class",
		source:   "Zhai and Wu 2019, Eq. 2",
		columns:  Classes,
		view:     AsSimilarity(o.Metric, o.Scale),
		shifts:   true,
		settings: []setting{positive("temperature", "divides s = 1 - D^2/D0^2", 0.05)},
		build:    func(v values) (Loss, error) { return &NormalizedSoftmax{Temperature: v.real("temperature")}, nil },
	}
}

func softmaxEntry(o Options) entry {
	temperature := raw(o).unit() / 16
	if o.Metric.Kind == metric.Dot {
		temperature = 1
	}
	return entry{
		meaning:  "plain classification: the metric's own values as logits, on dot a linear head without bias",
		source:   "the usual classifier; chapter 16.2.3",
		columns:  Classes,
		settings: []setting{positive("temperature", "divides the metric's values", temperature)},
		build:    func(v values) (Loss, error) { return &NormalizedSoftmax{Temperature: v.real("temperature")}, nil },
	}
}
