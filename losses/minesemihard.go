package losses

// NearestSemiHard takes one triplet for every ordered positive pair (a,p): the
// nearest negative that is farther than p, or where none is, the farthest
// negative (the semi-hard rule of FaceNet as TensorFlow and the authors of the
// spherical embedding constraint write it). Ties go to the lower index.
type NearestSemiHard struct{}

// Mine implements TripletMiner.
func (NearestSemiHard) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("nearest semi-hard miner", out == nil); err != nil {
		return err
	}
	out.Reset()
	away := m.Away()
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		v := m.row(m.V, a)
		for _, p := range pos {
			inside, farthest := -1, -1
			for _, q := range neg {
				if away*v[q] > away*v[p] && (inside < 0 || away*v[q] < away*v[inside]) {
					inside = q
				}
				if farthest < 0 || away*v[q] > away*v[farthest] {
					farthest = q
				}
			}
			switch {
			case inside >= 0:
				out.add(a, p, inside)
			case farthest >= 0:
				out.add(a, p, farthest)
			}
		}
	}
	return nil
}
