package losses

import (
	"fmt"
	"math"
)

// PairMargin keeps the positive pairs that are farther than PosMargin and the
// negative pairs that are nearer than NegMargin.
//
// The zero value has the margins U and V of the zero value of Contrastive: 0.875 and
// 0 on cosines, 0.5 and 1.4142 on distances of unit vectors.
type PairMargin struct {
	PosMargin, NegMargin float64
}

func (p PairMargin) fields(f *fields) {
	f.number("PosMargin", p.PosMargin)
	f.number("NegMargin", p.NegMargin)
}

func paperPairMargin(similarity bool) (PairMargin, error) {
	l, err := (&Contrastive{}).about().fromPaper(similarity)
	if err != nil {
		return PairMargin{}, err
	}
	c := l.(*Contrastive)
	return PairMargin{PosMargin: c.U, NegMargin: c.V}, nil
}

// Mine implements PairMiner.
func (p PairMargin) Mine(m *Matrix, out *Pairs) error {
	if err := m.checkMined("pair-margin miner", out == nil); err != nil {
		return err
	}
	p, err := settle("pair-margin miner", p, m.Similarity, func() (PairMargin, error) { return paperPairMargin(m.Similarity) })
	if err != nil {
		return err
	}
	out.Reset()
	away := m.Away()
	for a, label := range m.RowLabels {
		for j, v := range m.row(m.V, a) {
			switch {
			case m.ColLabels[j] != label:
				if away*v < away*p.NegMargin {
					out.NegAnchor, out.Negative = append(out.NegAnchor, a), append(out.Negative, j)
				}
			case !m.Self(a, j):
				if away*v > away*p.PosMargin {
					out.PosAnchor, out.Positive = append(out.PosAnchor, a), append(out.Positive, j)
				}
			}
		}
	}
	return nil
}

// MultiSimilarityMiner keeps a positive pair that is not closer, by Epsilon,
// than the anchor's nearest negative, and a negative pair that is not farther,
// by Epsilon, than the anchor's farthest positive (Wang et al. 2019, Eq. 10, 11).
// Rows without positives or without negatives keep nothing.
//
// The zero value has the authors' Epsilon 0.1 and Duplicate 1e-5, on cosines.
type MultiSimilarityMiner struct {
	Epsilon float64
	// Duplicate leaves out positives whose similarity is 1 - Duplicate or more,
	// if it is above 0. The authors' code does that with 1e-5, by which it also
	// leaves out the pair of a row with itself.
	Duplicate float64
	// All keeps all pairs but duplicates.
	All bool

	asSet bool // the fields count even where all are zero
}

func (s MultiSimilarityMiner) fields(f *fields) {
	f.flag(s.asSet)
	f.notNegative("Epsilon", s.Epsilon)
	f.in("Duplicate", s.Duplicate, interval{low: 0, high: 2})
	f.flag(s.All)
}

// paperMultiSimilarityMiner is the miner of the zero value of MultiSimilarity.
func paperMultiSimilarityMiner() (MultiSimilarityMiner, error) {
	l, err := (&MultiSimilarity{}).about().fromPaper(true)
	if err != nil {
		return MultiSimilarityMiner{}, err
	}
	return l.(*MultiSimilarity).Miner.(MultiSimilarityMiner), nil
}

// Mine implements PairMiner.
func (s MultiSimilarityMiner) Mine(m *Matrix, out *Pairs) error {
	if err := m.checkMined("multi-similarity miner", out == nil); err != nil {
		return err
	}
	s, err := settle("multi-similarity miner", s, m.Similarity, paperMultiSimilarityMiner)
	if err != nil {
		return err
	}
	if s.Duplicate > 0 && !m.Similarity {
		return fmt.Errorf("losses: multi-similarity miner: Duplicate is a difference of similarities, but the matrix holds distances: put the view AsSimilarity in front, or set Duplicate to 0")
	}
	out.Reset()
	away := m.Away()
	var pos, neg, kept []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		v := m.row(m.V, a)
		kept = kept[:0]
		farthest, nearest := math.Inf(-1), math.Inf(1)
		for _, p := range pos {
			if s.Duplicate > 0 && v[p] >= 1-s.Duplicate {
				continue
			}
			kept = append(kept, p)
			farthest = math.Max(farthest, away*v[p])
		}
		for _, q := range neg {
			nearest = math.Min(nearest, away*v[q])
		}
		for _, p := range kept {
			if s.All || away*v[p]+s.Epsilon > nearest {
				out.PosAnchor, out.Positive = append(out.PosAnchor, a), append(out.Positive, p)
			}
		}
		for _, q := range neg {
			if s.All || away*v[q]-s.Epsilon < farthest {
				out.NegAnchor, out.Negative = append(out.NegAnchor, a), append(out.Negative, q)
			}
		}
	}
	return nil
}
