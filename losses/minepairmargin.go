package losses

import "fmt"

// PairMargin keeps the positive pairs that are farther than PosMargin and the
// negative pairs that are nearer than NegMargin.
type PairMargin struct {
	PosMargin, NegMargin float64
}

// Mine implements PairMiner.
func (p PairMargin) Mine(m *Matrix, out *Pairs) error {
	if err := m.checkShape(); err != nil {
		return fmt.Errorf("losses: pair-margin miner: %w", err)
	}
	out.Reset()
	away := m.away()
	for a, label := range m.RowLabels {
		for j, v := range m.row(m.V, a) {
			switch {
			case m.ColLabels[j] != label:
				if away*v < away*p.NegMargin {
					out.NegAnchor, out.Negative = append(out.NegAnchor, a), append(out.Negative, j)
				}
			case !m.self(a, j):
				if away*v > away*p.PosMargin {
					out.PosAnchor, out.Positive = append(out.PosAnchor, a), append(out.Positive, j)
				}
			}
		}
	}
	return nil
}
