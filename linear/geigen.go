package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// GEigen is the closed form of textbook section 63.2.2: the directions v that
// maximize the spread of dissimilar pairs over that of similar ones solve
// C_D v = mu C_S v; L = diag(sqrt mu) V^T, so that M = C_S^-1 C_D C_S^-1.
type GEigen struct {
	// Dim is the number of directions to keep, by decreasing mu; 0 keeps all.
	Dim int
	// Lambda is added to the diagonals of C_S and C_D.
	Lambda float64
	// Seed draws pairs from labels if Pairs is not 0.
	Seed uint64
	// Pairs of each kind to draw from labels; 0 takes all pairs of rows, which
	// costs no more.
	Pairs int
}

// Name returns "geigen".
func (GEigen) Name() string { return "geigen" }

// Fit needs similar and dissimilar pairs, or labels. C_S and C_D are means over
// pairs. Directions in which similar pairs do not differ at all are left out.
func (g GEigen) Fit(_ context.Context, p *Problem) (*Result, error) {
	return fitting(g.Name(), p, func() (*Result, error) {
		_, d := p.X.Dims()
		cs, cd, ns, nd, err := pairScatters(p, g.Pairs, g.Seed)
		if err != nil {
			return nil, err
		}
		cs.ScaleSym(1/ns, cs)
		cd.ScaleSym(1/nd, cd)
		addIdentity(cs, g.Lambda)
		addIdentity(cd, g.Lambda)
		mu, v, err := generalized(cd, cs)
		if err != nil {
			return nil, fmt.Errorf("similar pairs: %w", err)
		}
		h := len(mu)
		if g.Dim > 0 {
			h = min(g.Dim, h)
		}
		l := mat.NewDense(h, d, nil)
		for i := range h {
			for j := range d {
				l.Set(i, j, math.Sqrt(max(mu[i], 0))*v.At(j, i))
			}
		}
		fixSigns(l)
		r := closed(l)
		r.Eigenvalues = mu
		noteRank(r, "scatter of similar pairs", len(mu), d)
		return r, nil
	})
}

// pairScatters returns the scatter sums over similar and dissimilar pairs and
// how many pairs they are. From labels and with draw = 0 these are all
// unordered pairs of rows of known class: the pairs inside a class of n_c rows
// sum to n_c times its centered scatter, all pairs to n times the total one.
func pairScatters(p *Problem, draw int, seed uint64) (s, d *mat.SymDense, ns, nd float64, err error) {
	if p.Labels == nil || draw > 0 || len(p.Similar) > 0 || len(p.Dissimilar) > 0 {
		similar, dissimilar, err := pairsOf(p, draw, seed)
		if err != nil {
			return nil, nil, 0, 0, err
		}
		return scatterOf(p.X, similar), scatterOf(p.X, dissimilar), float64(len(similar)), float64(len(dissimilar)), nil
	}
	x, labels, err := p.known(2)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	rows, classes := byClass(labels)
	n := float64(len(rows))
	_, d = centeredScatter(x, rows)
	d.ScaleSym(n, d)
	nd = n * (n - 1) / 2
	s = mat.NewSymDense(d.SymmetricDim(), nil)
	for _, c := range classes {
		m := float64(len(c))
		_, sc := centeredScatter(x, c)
		sc.ScaleSym(m, sc)
		s.AddSym(s, sc)
		ns += m * (m - 1) / 2
	}
	subSym(d, d, s)
	return s, d, ns, nd - ns, nil
}
