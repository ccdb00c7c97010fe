package losses

import (
	"fmt"
	"math"
)

// Window keeps the triplets whose gap away*(V(a,q) - V(a,p)), by which the
// negative is farther than the positive, lies in (Above, UpTo]. The named
// windows of margin M are AllWithin, Hard, SemiHard and Easy. Above may be minus,
// UpTo plus infinity.
//
// The zero value is SemiHard with the margin of the zero value of Triplet: 0.1 on
// cosines, 0.1414 on distances of unit vectors.
type Window struct {
	Above, UpTo float64
}

func (w Window) fields(f *fields) {
	f.flag(w != Window{})
	if math.IsNaN(w.Above) || math.IsInf(w.Above, 1) {
		f.refuse("Above", w.Above, "a number, or minus infinity")
	}
	if math.IsNaN(w.UpTo) || math.IsInf(w.UpTo, -1) {
		f.refuse("UpTo", w.UpTo, "a number, or infinity")
	}
	if !(w.Above < w.UpTo) {
		f.refuse("UpTo", w.UpTo, fmt.Sprintf("more than Above, %v", w.Above))
	}
}

// settled is the window, or the paper's where no field is set.
func (w Window) settled(similarity bool) (Window, error) {
	return settle("window", w, similarity, func() (Window, error) {
		window, _, err := paperMining("semihard", similarity)
		if err != nil {
			return w, err
		}
		return *window, nil
	})
}

// AllWithin keeps gaps up to the margin: every triplet that a hinge of that
// margin sees.
func AllWithin(margin float64) Window { return Window{math.Inf(-1), margin} }

// Hard keeps triplets whose negative is no farther than the positive.
func Hard(margin float64) Window { return Window{math.Inf(-1), math.Min(margin, 0)} }

// SemiHard keeps triplets whose negative is farther than the positive, but by
// no more than the margin (Schroff, Kalenichenko and Philbin 2015, Eq. 4).
func SemiHard(margin float64) Window { return Window{0, margin} }

// Easy keeps triplets whose negative is farther by more than the margin.
func Easy(margin float64) Window { return Window{margin, math.Inf(1)} }

// holds reports whether a gap lies in the window.
func (w Window) holds(gap float64) bool { return gap > w.Above && gap <= w.UpTo }

// Mine implements TripletMiner; triplets come in order of anchor, positive and
// negative. The list may have as many entries as there are triplets: Triplet
// with a Window needs no list.
func (w Window) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("window miner", out == nil); err != nil {
		return err
	}
	w, err := w.settled(m.Similarity)
	if err != nil {
		return err
	}
	out.Reset()
	away := m.Away()
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		v := m.row(m.V, a)
		for _, p := range pos {
			for _, q := range neg {
				if w.holds(away * (v[q] - v[p])) {
					out.add(a, p, q)
				}
			}
		}
	}
	return nil
}

// NearestSemiHard takes one triplet for every ordered positive pair (a,p): the
// nearest negative that is farther than p, or where none is, the farthest
// negative (the semi-hard rule of FaceNet as TensorFlow and the authors of the
// spherical embedding constraint write it). Ties go to the lower index.
type NearestSemiHard struct{}

// Mine implements TripletMiner.
func (NearestSemiHard) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("nearest semi-hard miner", out == nil); err != nil {
		return err
	}
	out.Reset()
	away := m.Away()
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		v := m.row(m.V, a)
		for _, p := range pos {
			inside, farthest := -1, -1
			for _, q := range neg {
				if away*v[q] > away*v[p] && (inside < 0 || away*v[q] < away*v[inside]) {
					inside = q
				}
				if farthest < 0 || away*v[q] > away*v[farthest] {
					farthest = q
				}
			}
			switch {
			case inside >= 0:
				out.add(a, p, inside)
			case farthest >= 0:
				out.add(a, p, farthest)
			}
		}
	}
	return nil
}

// BatchHard takes one triplet a row that has positives and negatives: its
// farthest positive and its nearest negative (Hermans, Beyer and Leibe 2017,
// Eq. 5). Ties go to the lower index.
type BatchHard struct{}

// Mine implements TripletMiner.
func (BatchHard) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("batch-hard miner", out == nil); err != nil {
		return err
	}
	out.Reset()
	away := m.Away()
	for a := range m.Rows {
		v := m.row(m.V, a)
		p, q := -1, -1
		for j, label := range m.ColLabels {
			switch {
			case label != m.RowLabels[a]:
				if q < 0 || away*v[j] < away*v[q] {
					q = j
				}
			case !m.Self(a, j):
				if p < 0 || away*v[j] > away*v[p] {
					p = j
				}
			}
		}
		if p >= 0 && q >= 0 {
			out.add(a, p, q)
		}
	}
	return nil
}

// Pick says which of an anchor's positives or negatives to take.
type Pick uint8

const (
	// Hardest is the farthest positive, the nearest negative.
	Hardest Pick = iota
	// Easiest is the nearest positive, the farthest negative.
	Easiest
	// JustBeyond is the nearest negative that is farther than the positive
	// taken, or the farthest positive that is nearer than the negative taken. An
	// anchor without one gives no triplet.
	JustBeyond
)

// EasyHard takes one triplet a row that has positives and negatives, by a choice
// for each (Xuan, Stylianou and Pless 2020: Easiest positives with Hardest or
// JustBeyond negatives). Both Hardest is BatchHard. At most one of the two may
// be JustBeyond. Ties go to the lower index.
//
// The zero value takes the hardest of both.
type EasyHard struct {
	Positive, Negative Pick
}

func (e EasyHard) fields(f *fields) {
	f.choice("Positive", int(e.Positive), "Hardest", "Easiest", "JustBeyond")
	f.choice("Negative", int(e.Negative), "Hardest", "Easiest", "JustBeyond")
}

// Mine implements TripletMiner.
func (e EasyHard) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("easy-hard miner", out == nil); err != nil {
		return err
	}
	if _, err := settle("easy-hard miner", e, m.Similarity, func() (EasyHard, error) { return e, nil }); err != nil {
		return err
	}
	if e.Positive == JustBeyond && e.Negative == JustBeyond {
		return fmt.Errorf("losses: easy-hard miner: positive and negative cannot both be what lies just beyond the other")
	}
	out.Reset()
	away := m.Away()
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		v := m.row(m.V, a)
		p, q := -1, -1
		if e.Positive == JustBeyond {
			if q = furthest(v, neg, e.sign(e.Negative, -away)); q >= 0 {
				p = beyond(v, pos, -away, v[q])
			}
		} else if p = furthest(v, pos, e.sign(e.Positive, away)); p >= 0 {
			if e.Negative == JustBeyond {
				q = beyond(v, neg, away, v[p])
			} else {
				q = furthest(v, neg, e.sign(e.Negative, -away))
			}
		}
		if p >= 0 && q >= 0 {
			out.add(a, p, q)
		}
	}
	return nil
}

// sign turns the direction of the hardest into that of the pick.
func (EasyHard) sign(p Pick, hardest float64) float64 {
	if p == Easiest {
		return -hardest
	}
	return hardest
}

// furthest returns the first column with the largest direction*v, -1 of none.
func furthest(v []float64, columns []int, direction float64) int {
	best := -1
	for _, j := range columns {
		if best < 0 || direction*v[j] > direction*v[best] {
			best = j
		}
	}
	return best
}

// beyond returns the first column with the least direction*v above that of x,
// -1 of none.
func beyond(v []float64, columns []int, direction, x float64) int {
	best := -1
	for _, j := range columns {
		if direction*v[j] > direction*x && (best < 0 || direction*v[j] < direction*v[best]) {
			best = j
		}
	}
	return best
}
