package losses

import (
	"fmt"
	"math"
)

// AngularMiner keeps the triplets whose angle at the negative, as the angular
// loss measures it, is above a bound (Wang et al. 2017, Eq. 4):
//
//	tan(angle) = |a - p| / (2 |q - (a+p)/2|)
//
// Squared maps the matrix to squared Euclidean distances (up to a factor), as
// View AsSquared does; the zero View takes them as they are. The matrix must be
// that of a batch with itself.
//
// The zero value has a bound of 20 degrees and takes similarities for cosines,
// distances for those of unit vectors.
type AngularMiner struct {
	AboveDegrees float64
	Squared      View
}

func (s AngularMiner) fields(f *fields) {
	f.in("AboveDegrees", s.AboveDegrees, interval{low: 0, high: 90, openHigh: true})
	f.distances("Squared", s.Squared, "AsSquared")
}

// Mine implements TripletMiner.
func (s AngularMiner) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("angular miner", out == nil); err != nil {
		return err
	}
	if !m.SelfColumns || m.Rows != m.Cols {
		return fmt.Errorf("losses: angular miner needs %w", errSquare)
	}
	paper := func() (AngularMiner, error) { return paperMiner[AngularMiner]("angular", m.Similarity) }
	s, err := settle("angular miner", s, m.Similarity, paper)
	if err != nil {
		return err
	}
	out.Reset()
	bound := math.Tan(s.AboveDegrees * math.Pi / 180)
	square := func(i, j int) float64 { return math.Max(s.Squared.Value(m.V[i*m.Cols+j]), 0) }
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		for _, p := range pos {
			side := square(a, p)
			for _, q := range neg {
				// The median's square: (|q-a|^2 + |q-p|^2)/2 - |a-p|^2/4.
				median := math.Max((square(a, q)+square(p, q))/2-side/4, 0)
				if side > 4*bound*bound*median {
					out.add(a, p, q)
				}
			}
		}
	}
	return nil
}
