package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Covariance returns the (H, H) covariance of the coordinates over all rows,
// with divisor N-1 (BRM Eq. 4 and Fig. 3, which shows that learned coordinates
// are almost uncorrelated). It takes blocks of rows, where gonum's stat.CovarianceMatrix
// would hold all of them twice in float64.
func Covariance(e *Embeddings) (*mat.SymDense, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.N < 2 {
		return nil, fmt.Errorf("eval: the covariance of %d row is undefined, give at least 2", e.N)
	}
	mean := make([]float64, e.H)
	for i := range e.N {
		for j, v := range e.Row(i) {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= float64(e.N)
	}
	cov := mat.NewSymDense(e.H, nil)
	for from := 0; from < e.N; from += spectrumRows {
		rows := min(spectrumRows, e.N-from)
		block := mat.NewDense(rows, e.H, nil)
		for i := range rows {
			for j, v := range e.Row(from + i) {
				block.Set(i, j, float64(v)-mean[j])
			}
		}
		cov.SymRankK(cov, 1/float64(e.N-1), block.T())
	}
	return cov, nil
}

// Decorrelation is the mean absolute covariance of two different coordinates
// over the mean variance: 0 if coordinates are uncorrelated. NaN for a single
// coordinate or no variance.
func Decorrelation(cov mat.Symmetric) float64 {
	h := cov.SymmetricDim()
	var diagonal, off float64
	for i := range h {
		diagonal += cov.At(i, i) / float64(h)
		for j := range i {
			off += math.Abs(cov.At(i, j))
		}
	}
	return off / choose2(h) / diagonal
}
