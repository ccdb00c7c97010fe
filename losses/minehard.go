package losses

import "fmt"

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
