package losses

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

// PairMiner picks positive and negative pairs by nothing but values and labels.
type PairMiner interface {
	// Mine overwrites out.
	Mine(m *Matrix, out *Pairs) error
}
