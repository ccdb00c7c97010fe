package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// Angular bounds the angle at the negative of each triangle of anchor, positive
// and negative (Wang et al. 2017, Eq. 8): per ordered positive pair
//
//	log(1 + sum over q of exp(4 t^2 (s(a,q) + s(p,q)) - 2 (1 + t^2) s(a,p))),  t = tan(Alpha)
//
// mean over the pairs. The matrix must be that of a batch with itself.
//
// The zero value has an angle of 40 degrees, on cosines.
type Angular struct {
	AlphaDegrees float64
	// RawNegatives measures the negatives at their own length, anchor and positive
	// at length 1, as pytorch-metric-learning does. The matrix must then hold the
	// dot products of raw embeddings, from whose diagonal the lengths are read.
	// Otherwise it holds cosines, as the paper has it.
	RawNegatives bool

	paper    paper
	pos, neg []int
	logits   []float64
	norm     []float64
}

// Columns is Batch.
func (*Angular) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are ordered positive pairs; those without
// negatives are not active.
func (l *Angular) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Angular) about() about { return about{"angular", angularEntry, &l.paper} }

func (l *Angular) fields(f *fields) {
	f.in("AlphaDegrees", l.AlphaDegrees, interval{low: 0, high: 90, openLow: true, openHigh: true})
	f.flag(l.RawNegatives)
}

func (l *Angular) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkSquare("angular", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkSimilarity("angular"); err != nil {
		return Result{}, err
	}
	if err := l.lengths(m); err != nil {
		return Result{}, err
	}
	zero(grad)
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		for _, p := range l.pos {
			r.Total++
			if len(l.neg) > 0 {
				r.Active++
				r.Value += l.pair(m, grad, a, p)
			}
		}
	}
	return r.mean(grad), nil
}

// pair adds the term of one positive pair.
func (l *Angular) pair(m *Matrix, grad []float64, a, p int) float64 {
	t := math.Tan(l.AlphaDegrees * math.Pi / 180)
	push, pull := 4*t*t, 2*(1+t*t)
	va, vp := m.row(m.V, a), m.row(m.V, p)
	ga, gp := m.row(grad, a), m.row(grad, p)
	na, np := l.norm[a], l.norm[p]
	l.logits = grow(l.logits, len(l.neg))
	for k, q := range l.neg {
		l.logits[k] = push * (va[q]/na + vp[q]/np)
	}
	cosine := va[p] / (na * np)
	value, slope := softplus(logSumExp(l.logits) - pull*cosine)
	ga[p] -= slope * pull / (na * np)
	alongA, alongP := 0.0, 0.0
	for k, q := range l.neg {
		w := slope * push * l.logits[k]
		ga[q] += w / na
		gp[q] += w / np
		alongA += w * va[q] / na
		alongP += w * vp[q] / np
	}
	if l.RawNegatives { // a length is the root of the diagonal
		ga[a] -= (alongA - slope*pull*cosine) / (2 * na * na)
		gp[p] -= (alongP - slope*pull*cosine) / (2 * np * np)
	}
	return value
}

// lengths fills norm: 1, or what the diagonal says.
func (l *Angular) lengths(m *Matrix) error {
	l.norm = grow(l.norm, m.Rows)
	for a := range l.norm {
		l.norm[a] = 1
		if !l.RawNegatives {
			continue
		}
		square := m.V[a*m.Cols+a]
		if square < 0 {
			return fmt.Errorf("losses: angular: row %d has %v on the diagonal; raw negatives need dot products, whose diagonal is a squared length", a, square)
		}
		l.norm[a] = math.Max(math.Sqrt(square), 1e-12)
	}
	return nil
}

func angularEntry(o Options) entry {
	settings := []setting{
		between("alpha", "degrees: upper bound of the angle at the negative", 40, 0, 90, true, true),
	}
	if o.Metric.Kind == metric.Dot {
		settings = append(settings, oneOf("negatives", "negatives at length 1 as in the paper (rows must have it), or raw", "unit", "raw"))
	}
	return entry{
		meaning:  "the angle at the negative of each triangle, against all negatives at once",
		source:   "Wang et al. 2017, Eq. 8",
		view:     AsSimilarity(o.Metric, o.Scale),
		settings: settings,
		build: func(v values) (Loss, error) {
			raw := len(settings) > 1 && v.word("negatives") == "raw"
			return &Angular{AlphaDegrees: v.real("alpha"), RawNegatives: raw}, nil
		},
	}
}

// AngularMiner keeps the triplets whose angle at the negative, as the angular
// loss measures it, is above a bound (Wang et al. 2017, Eq. 4):
//
//	tan(angle) = |a - p| / (2 |q - (a+p)/2|)
//
// Squared maps the matrix to squared Euclidean distances (up to a factor), as
// View AsSquared does; the zero View takes them as they are. The matrix must be
// that of a batch with itself.
//
// The zero value has a bound of 20 degrees and takes similarities for cosines,
// distances for those of unit vectors.
type AngularMiner struct {
	AboveDegrees float64
	Squared      View
}

func (s AngularMiner) fields(f *fields) {
	f.in("AboveDegrees", s.AboveDegrees, interval{low: 0, high: 90, openHigh: true})
	f.distances("Squared", s.Squared, "AsSquared")
}

// Mine implements TripletMiner.
func (s AngularMiner) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("angular miner", out == nil); err != nil {
		return err
	}
	if !m.SelfColumns || m.Rows != m.Cols {
		return fmt.Errorf("losses: angular miner needs %w", errSquare)
	}
	paper := func() (AngularMiner, error) { return paperMiner[AngularMiner]("angular", m.Similarity) }
	s, err := settle("angular miner", s, m.Similarity, paper)
	if err != nil {
		return err
	}
	out.Reset()
	bound := math.Tan(s.AboveDegrees * math.Pi / 180)
	square := func(i, j int) float64 { return math.Max(s.Squared.Value(m.V[i*m.Cols+j]), 0) }
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		for _, p := range pos {
			side := square(a, p)
			for _, q := range neg {
				// The median's square: (|q-a|^2 + |q-p|^2)/2 - |a-p|^2/4.
				median := math.Max((square(a, q)+square(p, q))/2-side/4, 0)
				if side > 4*bound*bound*median {
					out.add(a, p, q)
				}
			}
		}
	}
	return nil
}
