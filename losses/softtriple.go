package losses

import (
	"fmt"
	"math"
	"reflect"
)

// SoftTriple has several centers a class (Qian et al. 2019, Eq. 6 to 8). With s
// the similarities to them, a class's similarity is
//
//	S_c = sum over its centers k of softmax_k(s_ck/Gamma) s_ck
//
// and the loss is the mean over rows of the cross-entropy of Lambda*S_c, where
// the own class is first lowered by Margin. Column c*Centers + k is center k of
// class c.
//
// Its class term draws the centers of a class together, so that superfluous
// ones merge (Eq. 9):
//
//	Tau/(C*K*(K-1)) sum over classes, and their pairs of centers, of sqrt(2 + Epsilon - 2 s)
//
// The zero value has the authors' Lambda 20, Gamma 0.1, Margin 0.01, Centers 10,
// Tau 0.2 and Epsilon 1e-5, on cosines.
type SoftTriple struct {
	Lambda, Gamma, Margin float64
	Centers               int // a class; 0 means 1
	Tau                   float64
	// Epsilon keeps the root's slope finite where two centers meet; the authors
	// have 1e-5.
	Epsilon float64

	paper          paper
	groups         []int // of each class
	logits, weight []float64
}

// Columns is Classes.
func (*SoftTriple) Columns() Columns { return Classes }

// PerClass is the number of centers.
func (l *SoftTriple) PerClass() int { return centersOf(l.own().Centers) }

// own is l, or the paper's loss where no field is set.
func (l *SoftTriple) own() *SoftTriple {
	if own, err := settled(l, true); err == nil {
		return own.(*SoftTriple)
	}
	return l // of which Eval says what is wrong
}

// ClassTerm returns the term on the centers, nil if it has no weight.
func (l *SoftTriple) ClassTerm() Loss {
	own := l.own()
	if own.Tau == 0 || centersOf(own.Centers) < 2 {
		return nil
	}
	return &centerSpread{own}
}

// Eval implements Loss. Its terms are rows.
func (l *SoftTriple) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *SoftTriple) about() about { return about{"soft-triple", softTripleEntry, &l.paper} }

func (l *SoftTriple) fields(f *fields) {
	f.positive("Lambda", l.Lambda)
	f.positive("Gamma", l.Gamma)
	f.notNegative("Margin", l.Margin)
	l.termFields(f)
}

// termFields are those that the term on the centers needs.
func (l *SoftTriple) termFields(f *fields) {
	f.whole("Centers", l.Centers, 0, maxCenters)
	f.notNegative("Tau", l.Tau)
	f.notNegative("Epsilon", l.Epsilon)
}

func (l *SoftTriple) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("soft-triple", grad); err != nil {
		return Result{}, err
	}
	groups, err := classGroups("soft-triple", m, centersOf(l.Centers), l.groups)
	if err != nil {
		return Result{}, err
	}
	l.groups = groups
	count := m.Cols / centersOf(l.Centers)
	l.logits, l.weight = grow(l.logits, parts()*count), grow(l.weight, parts()*m.Cols)
	values := make([]float64, m.Rows)
	spread(m.Rows, len(m.V), func(part, from, to int) {
		logits, weight := l.logits[part*count:(part+1)*count], l.weight[part*m.Cols:(part+1)*m.Cols]
		for i := from; i < to; i++ {
			values[i] = l.row(m, i, m.row(grad, i), logits, weight)
		}
	})
	return Result{Value: sum(values) / float64(m.Rows), Active: m.Rows, Total: m.Rows}, nil
}

// row returns one row's cross-entropy and its gradient, over the number of rows.
// logits and weight are working memory.
func (l *SoftTriple) row(m *Matrix, i int, g, logits, weight []float64) float64 {
	scale := -m.Away()
	v, own, k := m.row(m.V, i), l.groups[m.RowLabels[i]], centersOf(l.Centers)
	for c := range logits {
		logits[c] = l.Lambda * l.class(v[c*k:(c+1)*k], weight[c*k:(c+1)*k], scale)
	}
	logits[own] -= l.Lambda * l.Margin
	value := crossEntropy(logits, own)
	each := l.Lambda * scale / float64(m.Rows)
	for c, slope := range logits {
		slope *= each
		for j := c * k; j < (c+1)*k; j++ {
			g[j] = slope * weight[j]
		}
	}
	return value
}

// class returns S_c of the values v of one class's columns, and its derivatives
// in weight.
func (l *SoftTriple) class(v, weight []float64, scale float64) float64 {
	top := math.Inf(-1)
	for _, x := range v {
		if s := scale * x; s > top {
			top = s
		}
	}
	sharp := 1 / l.Gamma
	total, mean := 0.0, 0.0
	for j, x := range v {
		s := scale * x
		e := 1.0
		if s != top { // one of two centers a class saves its exponential
			e = math.Exp((s - top) * sharp)
		}
		weight[j] = e
		total += e
		mean += e * s
	}
	share := 1 / total
	mean *= share
	for j, x := range v {
		weight[j] *= (1 + (scale*x-mean)*sharp) * share
	}
	return mean
}

// centerSpread is SoftTriple's term on its centers.
type centerSpread struct{ of *SoftTriple }

// Columns is OwnClass.
func (*centerSpread) Columns() Columns { return OwnClass }

// Eval implements Loss. Its terms are pairs of centers of one class.
func (l *centerSpread) Eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkOwnClass("soft-triple's centers", grad); err != nil {
		return Result{}, err
	}
	var f fields
	if l.of.termFields(&f); f.wrong != nil {
		return Result{}, f.wrong.error("soft-triple", reflect.Value{})
	}
	if err := m.checkSimilarity("soft-triple's centers"); err != nil {
		return Result{}, err
	}
	k := l.of.Centers
	if m.Cols != k {
		return Result{}, fmt.Errorf("losses: soft-triple's centers: %d a class, not %d", m.Cols, k)
	}
	zero(grad)
	var r Result
	for row := range m.Rows {
		for b := row%k + 1; b < k; b++ {
			at := row*k + b
			r.Total++
			square := 2 + l.of.Epsilon - 2*m.V[at]
			if square <= 0 {
				continue
			}
			r.Active++
			root := math.Sqrt(square)
			r.Value += root
			grad[at] = -1 / root
		}
	}
	// The mean over pairs of one class is 2/(K(K-1)) times their sum.
	return r.over(grad, float64(m.Rows)*float64(k-1)/l.of.Tau), nil
}

func softTripleEntry(o Options) entry {
	return entry{
		meaning: "classification by several centers a class, softly assigned",
		source:  "Qian et al. 2019, Eq. 6-9",
		columns: Classes,
		view:    AsSimilarity(o.Metric, o.Scale),
		settings: []setting{
			positive("lambda", "multiplies class similarities", 20),
			positive("gamma", "temperature of the assignment to centers", 0.1),
			between("margin", "taken from the own class's similarity", 0.01, 0, 2, false, true),
			whole("centers", "centers a class", 10, 1, maxCenters),
			between("tau", "weight of the term that merges centers", 0.2, 0, math.Inf(1), false, true),
		},
		build: func(v values) (Loss, error) {
			return &SoftTriple{
				Lambda: v.real("lambda"), Gamma: v.real("gamma"), Margin: v.real("margin"),
				Centers: v.int("centers"), Tau: v.real("tau"), Epsilon: 1e-5,
			}, nil
		},
	}
}
