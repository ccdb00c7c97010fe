package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// GMML is geometric mean metric learning (Zadeh, Hosseini and Sra 2016): M is
// the point t on the geodesic from S^-1 to D,
// S^-1 #_t D = S^-1/2 (S^1/2 D S^1/2)^t S^-1/2, with S and D the scatter of
// similar and dissimilar pairs. At t = 1/2 it minimizes tr(M S) + tr(M^-1 D).
type GMML struct {
	// T is t, from 0 (which is S^-1) to 1; nil means 1/2.
	T *float64
	// Lambda is added to the diagonals of S and D: it draws M to the identity.
	Lambda float64
	// Pairs and Seed are as in GEigen.
	Pairs int
	Seed  uint64
}

// Name returns "gmml".
func (GMML) Name() string { return "gmml" }

// Fit needs similar and dissimilar pairs, whose scatter it sums, or labels: then
// S and D are means over all pairs of rows, so that Lambda is in units of a
// pair. Directions in which similar pairs do not differ are left out.
func (g GMML) Fit(_ context.Context, p *Problem) (*Result, error) {
	return fitting(g.Name(), p, func() (*Result, error) {
		t := .5
		if g.T != nil {
			t = *g.T
		}
		if !(t >= 0 && t <= 1) {
			return nil, fmt.Errorf("t is %v, want a number from 0 to 1", t)
		}
		_, dim := p.X.Dims()
		s, d, ns, nd, err := pairScatters(p, g.Pairs, g.Seed)
		if err != nil {
			return nil, err
		}
		if len(p.Similar) == 0 {
			s.ScaleSym(1/ns, s)
			d.ScaleSym(1/nd, d)
		}
		addIdentity(s, g.Lambda)
		addIdentity(d, g.Lambda)
		es, err := eigenOf(s)
		if err != nil {
			return nil, err
		}
		rank := es.rank()
		if rank == 0 {
			return nil, fmt.Errorf("similar pairs do not differ in any column")
		}
		// In the basis of S, W^T S W = I, the geodesic is (W^-1 D W^-T)^t.
		w := es.whitener(rank)
		root := mat.NewDense(dim, rank, nil) // columns of V sqrt(values): the inverse of W^T on the range
		for j := range rank {
			for i := range dim {
				root.Set(i, j, es.values[j]*w.At(i, j))
			}
		}
		ed, err := eigenOf(congruent(root, d))
		if err != nil {
			return nil, err
		}
		l := mat.NewDense(rank, dim, nil)
		var wu mat.Dense
		wu.Mul(w, ed.vectors)
		for i := range rank {
			scale := math.Pow(max(ed.values[i], 0), t/2)
			for j := range dim {
				l.Set(i, j, scale*wu.At(j, i))
			}
		}
		fixSigns(l)
		r := closed(l)
		noteRank(r, "scatter of similar pairs", rank, dim)
		return r, nil
	})
}
