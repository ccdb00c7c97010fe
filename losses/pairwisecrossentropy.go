package losses

import (
	"maps"
	"slices"
)

// PairwiseCrossEntropy compares two samples a class within the batch (Ermolov et
// al. 2022, Eq. 6). With x_i and x'_i the u-th and the v-th row of class i, in row
// order, and s a similarity (minus a distance), it is the cross-entropy of
//
//	s(x_i, x'_j)/T for all classes j, s(x_i, x_j)/T for j other than i
//
// against s(x_i, x'_i)/T, mean over classes and over all u and v that differ.
// Classes without a u-th or v-th row stay out of that comparison.
//
// The zero value has a temperature of 0.1, on cosines or on distances of
// 1 - cosine.
type PairwiseCrossEntropy struct {
	Temperature float64
	// FirstOnly takes u = 1, v = 2 only.
	FirstOnly bool

	paper  paper
	logits []float64
	column []int
}

// Columns is Batch.
func (*PairwiseCrossEntropy) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are ordered positive pairs; those of a
// comparison of one class are not active.
func (l *PairwiseCrossEntropy) Eval(m *Matrix, grad []float64) (Result, error) {
	return evaluate(l, m, grad)
}

func (l *PairwiseCrossEntropy) about() about {
	return about{"pairwise-cross-entropy", pairwiseCrossEntropyEntry, &l.paper}
}

func (l *PairwiseCrossEntropy) fields(f *fields) {
	f.positive("Temperature", l.Temperature)
	f.flag(l.FirstOnly)
}

func (l *PairwiseCrossEntropy) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkSquare("pairwise-cross-entropy", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	rows := rowsByClass(m.RowLabels)
	largest := 0
	for _, class := range rows {
		largest = max(largest, len(class))
	}
	var r Result
	for u := range largest {
		for v := range largest {
			if u != v && (!l.FirstOnly || u == 0 && v == 1) {
				l.compare(m, grad, rows, u, v, &r)
			}
		}
	}
	return r.mean(grad), nil
}

// compare adds the terms of the u-th rows as anchors and the v-th as positives.
func (l *PairwiseCrossEntropy) compare(m *Matrix, grad []float64, rows [][]int, u, v int, r *Result) {
	scale := -m.Away() / l.Temperature
	for _, own := range rows {
		if len(own) <= max(u, v) {
			continue
		}
		l.column = append(l.column[:0], own[v])
		for _, class := range rows {
			if len(class) > max(u, v) && class[0] != own[0] {
				l.column = append(l.column, class[v], class[u])
			}
		}
		r.Total++
		if len(l.column) == 1 {
			continue
		}
		r.Active++
		a := own[u]
		l.logits = gather(l.logits, m.row(m.V, a), l.column, scale)
		r.Value += crossEntropy(l.logits, 0)
		g := m.row(grad, a)
		for k, j := range l.column {
			g[j] += scale * l.logits[k]
		}
	}
}

// rowsByClass lists each class's rows, classes in ascending order of label.
func rowsByClass(labels []int) [][]int {
	byLabel := map[int][]int{}
	for i, label := range labels {
		byLabel[label] = append(byLabel[label], i)
	}
	rows := make([][]int, 0, len(byLabel))
	for _, label := range slices.Sorted(maps.Keys(byLabel)) {
		rows = append(rows, byLabel[label])
	}
	return rows
}

func pairwiseCrossEntropyEntry(o Options) entry {
	return entry{
		meaning: "samples of a class, two at a time, against the other classes' (the ViT recipe)",
		source:  "Ermolov et al. 2022, Eq. 6",
		view:    AsSimilarity(o.Metric, o.Scale),
		shifts:  true,
		settings: []setting{
			positive("temperature", "divides s = 1 - D^2/D0^2", 0.1),
			oneOf("pairs", "all pairs of positions in a class both ways, or first to second only", "all", "first"),
			oneOf("values", "what is divided: s, or the metric's own values (a distance by its negative)", "similarity", "metric"),
		},
		viewOf: func(v values) View {
			if v.word("values") == "metric" {
				return View{}
			}
			return AsSimilarity(o.Metric, o.Scale)
		},
		build: func(v values) (Loss, error) {
			return &PairwiseCrossEntropy{Temperature: v.real("temperature"), FirstOnly: v.word("pairs") == "first"}, nil
		},
	}
}
