package losses

import (
	"fmt"
	"math"
)

// Window keeps the triplets whose gap away*(V(a,q) - V(a,p)), by which the
// negative is farther than the positive, lies in (Above, UpTo]. The named
// windows of margin M are AllWithin, Hard, SemiHard and Easy.
type Window struct {
	Above, UpTo float64
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
	if err := m.checkShape(); err != nil {
		return fmt.Errorf("losses: window miner: %w", err)
	}
	out.Reset()
	away := m.away()
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
