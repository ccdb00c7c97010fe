package linear

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Covariance is Mahalanobis' own distance (1936): M is the pseudo-inverse of the
// covariance of all rows (divisor n-1).
type Covariance struct{}

// Name returns "covariance".
func (Covariance) Name() string { return "covariance" }

// Fit needs rows only. Directions without variance get no weight, and a note.
func (c Covariance) Fit(_ context.Context, p *Problem) (*Result, error) {
	return fitting(c.Name(), p, func() (*Result, error) {
		_, d := p.X.Dims()
		s := mat.NewSymDense(d, nil)
		stat.CovarianceMatrix(s, p.X, nil)
		l, rank, err := inverseFactor(s)
		if err != nil {
			return nil, err
		}
		r := closed(l)
		noteRank(r, "covariance", rank, d)
		return r, nil
	})
}

// inverseFactor returns L (r, d) with L^T L the pseudo-inverse of s, of rank r.
func inverseFactor(s *mat.SymDense) (l *mat.Dense, rank int, err error) {
	e, err := eigenOf(s)
	if err != nil {
		return nil, 0, err
	}
	rank = e.rank()
	if rank == 0 {
		return nil, 0, fmt.Errorf("no column varies")
	}
	l = mat.DenseCopyOf(e.whitener(rank).T())
	fixSigns(l)
	return l, rank, nil
}

func noteRank(r *Result, what string, rank, d int) {
	if rank < d {
		r.note("the %s has rank %d of %d: constant or collinear columns; the other directions have no weight", what, rank, d)
	}
}
