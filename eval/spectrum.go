package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Spectrum says how evenly embeddings use their dimensions.
type Spectrum struct {
	// SingularValues of the uncentered (N, H) matrix, descending.
	SingularValues []float64
	// Decay is sum u log(u/q), the Kullback-Leibler divergence from the
	// uniform distribution u to the spectrum q = values/sum (Roth et al. 2020):
	// 0 for an even spectrum, +Inf if some directions are not used at all.
	Decay float64
	// EffectiveRank is exp of the entropy of q (Roy and Vetterli 2007).
	EffectiveRank float64
}

// spectrumRows is how many rows SpectralDecay factors at once.
const spectrumRows = 2048

// SpectralDecay computes the spectrum by a QR factorization in blocks of rows,
// which needs memory for one block and loses no precision as E^T E would, and
// the singular values of the small triangle that remains.
func SpectralDecay(e *Embeddings) (Spectrum, error) {
	if err := e.Validate(); err != nil {
		return Spectrum{}, err
	}
	var upper *mat.Dense // (at most H, H)
	for from := 0; from < e.N; from += spectrumRows {
		upper = triangle(upper, e, from, min(from+spectrumRows, e.N))
	}
	var svd mat.SVD
	if !svd.Factorize(upper, mat.SVDNone) {
		return Spectrum{}, fmt.Errorf("eval: the singular values of %d x %d embeddings did not converge", e.N, e.H)
	}
	s := Spectrum{SingularValues: svd.Values(nil)}
	sum := 0.0
	for _, v := range s.SingularValues {
		sum += v
	}
	u := 1 / float64(len(s.SingularValues))
	entropy := 0.0
	for _, v := range s.SingularValues {
		q := v / sum
		if sum == 0 {
			q = 0
		}
		s.Decay += u * math.Log(u/q)
		if q > 0 {
			entropy -= q * math.Log(q)
		}
	}
	s.EffectiveRank = math.Exp(entropy)
	if sum == 0 {
		s.EffectiveRank = 0
	}
	return s, nil
}

// triangle returns R of the QR factorization of upper stacked on rows from..to,
// or the stack itself while it is not taller than wide.
func triangle(upper *mat.Dense, e *Embeddings, from, to int) *mat.Dense {
	above := 0
	if upper != nil {
		above, _ = upper.Dims()
	}
	stack := mat.NewDense(above+to-from, e.H, nil)
	if upper != nil {
		stack.Slice(0, above, 0, e.H).(*mat.Dense).Copy(upper)
	}
	for i := from; i < to; i++ {
		for j, v := range e.Row(i) {
			stack.Set(above+i-from, j, float64(v))
		}
	}
	if above+to-from <= e.H {
		return stack
	}
	var qr mat.QR
	qr.Factorize(stack)
	var r mat.Dense
	qr.RTo(&r)
	return mat.DenseCopyOf(r.Slice(0, e.H, 0, e.H))
}

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
