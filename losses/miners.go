package losses

import "fmt"

// TripletMiner picks triplets by nothing but values and labels.
type TripletMiner interface {
	// Mine overwrites out with triplets in ascending order of anchor. Every
	// positive shares its anchor's label and is another item; every negative
	// has another label. A batch without such triplets gives an empty list.
	Mine(m *Matrix, out *Triplets) error
}

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

// PairMiner picks positive and negative pairs by nothing but values and labels.
type PairMiner interface {
	// Mine overwrites out.
	Mine(m *Matrix, out *Pairs) error
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

// tripletMining turns the parameter into a window or a miner, neither for all
// triplets.
func tripletMining(o Options, v values) (*Window, TripletMiner, error) {
	seed, perAnchor := uint64(v.int("seed")), v.int("per-anchor")
	var window Window
	var miner TripletMiner
	switch v.word("mining") {
	case "all":
		if perAnchor == 0 {
			return nil, nil, nil
		}
		window = AllWithin(v.real("margin"))
	case "semihard":
		window = SemiHard(v.real("margin"))
	case "hard":
		window = Hard(v.real("margin"))
	case "nearest-semihard":
		miner = NearestSemiHard{}
	case "batch-hard":
		return nil, BatchHard{}, nil
	case "easy-positive":
		return nil, EasyHard{Positive: Easiest, Negative: JustBeyond}, nil
	case "angular":
		miner = AngularMiner{AboveDegrees: 20, Squared: AsSquared(o.Metric, o.Scale)}
	case "distance-weighted":
		dim, err := v.dimension()
		if err != nil {
			return nil, nil, err
		}
		miner = DistanceWeighted{Dim: dim, Nearest: 0.5, Farthest: 1.4, Sphere: AsSphere(o.Metric, o.Scale), Seed: seed}
	case "uniform":
		return nil, Uniform{PerAnchor: max(perAnchor, 1), Seed: seed}, nil
	}
	switch {
	case miner == nil && perAnchor == 0:
		return &window, nil, nil
	case miner == nil:
		miner = window
	}
	if perAnchor > 0 {
		miner = AtMost{Miner: miner, PerAnchor: perAnchor, Seed: seed}
	}
	return nil, miner, nil
}

// paperMining returns the window or the miner of triplets that New makes by default,
// on cosines or on distances of unit vectors.
func paperMining(name string, similarity bool) (*Window, TripletMiner, error) {
	o := unitVectors(similarity)
	v, err := readValues(tripletEntry(o).settings, map[string]string{"mining": name}, yardstick{})
	if err != nil {
		return nil, nil, err
	}
	v.dim = 2 // a miner without a dimension fails before
	return tripletMining(o, v)
}

// paperMiner is the miner of paperMining.
func paperMiner[T TripletMiner](name string, similarity bool) (T, error) {
	_, miner, err := paperMining(name, similarity)
	if err != nil {
		var none T
		return none, err
	}
	return miner.(T), nil
}
