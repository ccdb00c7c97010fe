package losses

import "math"

// maxCenters is the largest number of centers a class.
const maxCenters = 1000

// ArcFace is classification with the angle to the own class widened by a margin
// (Deng et al. 2019, Eq. 3): with cos(theta) = s the own similarity becomes
// cos(theta + m) and, where theta + m exceeds pi, cos(theta) - m sin(m), so that
// it keeps falling; all times Scale, then cross-entropy, mean over rows.
//
// With several Centers a class, a class's similarity is that of its nearest
// center (Deng et al. 2020, sub-center ArcFace).
//
// The zero value has the authors' scale 64 and margin 28.6 degrees (half a radian)
// on cosines, and one center a class.
type ArcFace struct {
	Scale, MarginDegrees float64
	Centers              int // a class; 0 means 1

	paper   paper
	groups  []int // of each class
	nearest []int
	logits  []float64
}

// Columns is Classes.
func (*ArcFace) Columns() Columns { return Classes }

// PerClass is the number of centers.
func (l *ArcFace) PerClass() int { return centersOf(l.Centers) }

// centersOf is the number of centers a class, 1 for what Eval refuses.
func centersOf(centers int) int {
	if centers < 1 || centers > maxCenters {
		return 1
	}
	return centers
}

// Eval implements Loss. Its terms are rows.
func (l *ArcFace) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *ArcFace) about() about { return about{"arcface", arcFaceEntry, &l.paper} }

func (l *ArcFace) fields(f *fields) {
	f.positive("Scale", l.Scale)
	f.in("MarginDegrees", l.MarginDegrees, interval{low: 0, high: 180, openHigh: true})
	f.whole("Centers", l.Centers, 0, maxCenters)
}

func (l *ArcFace) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("arcface", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkSimilarity("arcface"); err != nil {
		return Result{}, err
	}
	groups, err := classGroups("arcface", m, l.PerClass(), l.groups)
	if err != nil {
		return Result{}, err
	}
	l.groups = groups
	zero(grad)
	count := m.Cols / l.PerClass()
	l.nearest, l.logits = grow(l.nearest, parts()*count), grow(l.logits, parts()*count)
	values := make([]float64, m.Rows)
	spread(m.Rows, len(m.V), func(part, from, to int) {
		logits, nearest := l.logits[part*count:(part+1)*count], l.nearest[part*count:(part+1)*count]
		for i := from; i < to; i++ {
			values[i] = l.row(m, i, m.row(grad, i), logits, nearest)
		}
	})
	return Result{Value: sum(values) / float64(m.Rows), Active: m.Rows, Total: m.Rows}, nil
}

// row returns one row's cross-entropy and its gradient, over the number of rows.
// logits and nearest are working memory.
func (l *ArcFace) row(m *Matrix, i int, g, logits []float64, nearest []int) float64 {
	v, own, k := m.row(m.V, i), l.groups[m.RowLabels[i]], l.PerClass()
	for c := range logits {
		best := c * k
		for j := best + 1; j < (c+1)*k; j++ {
			if v[j] > v[best] {
				best = j
			}
		}
		logits[c], nearest[c] = l.Scale*v[best], best
	}
	wide, slope := l.widened(v[nearest[own]])
	logits[own] = l.Scale * wide
	value := crossEntropy(logits, own)
	logits[own] *= slope
	for c, d := range logits {
		g[nearest[c]] = l.Scale * d / float64(m.Rows)
	}
	return value
}

// widened returns cos(theta + m), or what takes its place, and its derivative
// with respect to cos(theta). Near theta = 0, where that has no bound, the sine is
// held at 1e-3, below which a cosine in single precision cannot tell angles
// apart.
func (l *ArcFace) widened(s float64) (y, slope float64) {
	margin := l.MarginDegrees * math.Pi / 180
	sin, cos := math.Sincos(margin)
	if s <= -cos { // theta > pi - m
		return s - margin*sin, 1
	}
	square := 1 - s*s
	if square <= cosineFloor {
		return s*cos - math.Sqrt(cosineFloor)*sin, cos
	}
	sine := math.Sqrt(square)
	return s*cos - sine*sin, cos + s/sine*sin
}

func arcFaceEntry(o Options) entry {
	return entry{
		meaning: "classification with a margin on the angle to the own class; several centers are possible",
		source:  "Deng et al. 2019, Eq. 3; Deng et al. 2020",
		columns: Classes,
		view:    AsSimilarity(o.Metric, o.Scale),
		settings: []setting{
			positive("scale", "multiplies s = 1 - D^2/D0^2", 64),
			between("margin", "degrees added to the angle to the own class", 28.6, 0, 180, false, true),
			whole("centers", "centers a class", 1, 1, maxCenters),
		},
		build: func(v values) (Loss, error) {
			return &ArcFace{Scale: v.real("scale"), MarginDegrees: v.real("margin"), Centers: v.int("centers")}, nil
		},
	}
}
