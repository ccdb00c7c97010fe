package losses

import "fmt"

// Triplets is a list of (anchor, positive, negative) index triples: anchors are
// rows of a Matrix, the others columns.
type Triplets struct {
	Anchor, Positive, Negative []int
}

// Len returns the number of triplets.
func (t *Triplets) Len() int { return len(t.Anchor) }

// Reset empties the list and keeps its memory.
func (t *Triplets) Reset() {
	t.Anchor, t.Positive, t.Negative = t.Anchor[:0], t.Positive[:0], t.Negative[:0]
}

func (t *Triplets) add(a, p, q int) {
	t.Anchor = append(t.Anchor, a)
	t.Positive = append(t.Positive, p)
	t.Negative = append(t.Negative, q)
}

// check refuses what a miner must not have put into the list.
func (t *Triplets) check(m *Matrix) error {
	if len(t.Positive) != len(t.Anchor) || len(t.Negative) != len(t.Anchor) {
		return fmt.Errorf("losses: the miner returned %d anchors, %d positives and %d negatives, want equal numbers", len(t.Anchor), len(t.Positive), len(t.Negative))
	}
	for k, a := range t.Anchor {
		p, q := t.Positive[k], t.Negative[k]
		if a < 0 || a >= m.Rows || p < 0 || p >= m.Cols || q < 0 || q >= m.Cols {
			return fmt.Errorf("losses: the miner returned triplet %d, %d, %d of a matrix of %d rows and %d columns", a, p, q, m.Rows, m.Cols)
		}
	}
	return nil
}

// TripletMiner picks triplets by nothing but values and labels.
type TripletMiner interface {
	// Mine overwrites out with triplets in ascending order of anchor. Every
	// positive shares its anchor's label and is another item; every negative
	// has another label. A batch without such triplets gives an empty list.
	Mine(m *Matrix, out *Triplets) error
}

// Pairs is a list of positive and a list of negative index pairs, ascending by
// (anchor, other).
type Pairs struct {
	PosAnchor, Positive []int
	NegAnchor, Negative []int
}

// Reset empties both lists and keeps their memory.
func (p *Pairs) Reset() {
	p.PosAnchor, p.Positive = p.PosAnchor[:0], p.Positive[:0]
	p.NegAnchor, p.Negative = p.NegAnchor[:0], p.Negative[:0]
}

// check refuses what a miner must not have put into the lists.
func (p *Pairs) check(m *Matrix) error {
	if err := checkPairs("positive", p.PosAnchor, p.Positive, m); err != nil {
		return err
	}
	return checkPairs("negative", p.NegAnchor, p.Negative, m)
}

func checkPairs(kind string, anchor, other []int, m *Matrix) error {
	if len(anchor) != len(other) {
		return fmt.Errorf("losses: the miner returned %d anchors for %d others in %s pairs, want equal numbers", len(anchor), len(other), kind)
	}
	for k, a := range anchor {
		switch {
		case a < 0 || a >= m.Rows || other[k] < 0 || other[k] >= m.Cols:
			return fmt.Errorf("losses: the miner returned the %s pair %d, %d of a matrix of %d rows and %d columns", kind, a, other[k], m.Rows, m.Cols)
		case k > 0 && a < anchor[k-1]:
			return fmt.Errorf("losses: the miner returned %s pairs of anchor %d after those of anchor %d, want them in ascending order", kind, a, anchor[k-1])
		}
	}
	return nil
}

// PairMiner picks positive and negative pairs by nothing but values and labels.
type PairMiner interface {
	// Mine overwrites out.
	Mine(m *Matrix, out *Pairs) error
}
