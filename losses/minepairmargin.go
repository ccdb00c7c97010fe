package losses

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
