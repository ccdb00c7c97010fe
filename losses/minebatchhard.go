package losses

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
