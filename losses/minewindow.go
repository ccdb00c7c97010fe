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
