package losses

import (
	"fmt"
	"math"
)

// MultiSimilarityMiner keeps a positive pair that is not closer, by Epsilon,
// than the anchor's nearest negative, and a negative pair that is not farther,
// by Epsilon, than the anchor's farthest positive (Wang et al. 2019, Eq. 10, 11).
// Rows without positives or without negatives keep nothing.
type MultiSimilarityMiner struct {
	Epsilon float64
	// Duplicate leaves out positives whose similarity is 1 - Duplicate or more,
	// if it is above 0. The authors' code does that with 1e-5, by which it also
	// leaves out the pair of a row with itself.
	Duplicate float64
	// All keeps all pairs but duplicates.
	All bool
}

// Mine implements PairMiner.
func (s MultiSimilarityMiner) Mine(m *Matrix, out *Pairs) error {
	if err := m.checkShape(); err != nil {
		return fmt.Errorf("losses: multi-similarity miner: %w", err)
	}
	if s.Duplicate > 0 && !m.Similarity {
		return fmt.Errorf("losses: multi-similarity miner: duplicates are told by their similarity; the matrix holds distances")
	}
	out.Reset()
	away := m.away()
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
