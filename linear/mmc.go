package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// MMC is Mahalanobis metric learning for clustering (Xing et al. 2002): it
// maximises the sum of distances over dissimilar pairs while the sum of squared
// distances over similar pairs is at most t, the hundredth part of its
// Euclidean value.
//
// The constraint only sets the scale of M, so the problem is to maximise
// sum_D d / sqrt(sum_S d^2), without constraint: L-BFGS on a square factor in
// the basis that whitens the similar pairs. M is scaled to the constraint
// afterwards. The problem is concave in M, so this is its maximum.
type MMC struct {
	// MaxIterations bounds L-BFGS; 0 means 1000.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "mmc".
func (MMC) Name() string { return "mmc" }

// Fit needs similar and dissimilar pairs, or labels. Directions in which similar
// pairs do not differ, where the maximum would be infinite, are left out.
func (m MMC) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		s := scatterOf(p.X, similar)
		t := mat.Trace(s) / 100
		w, err := whitening(s)
		if err != nil {
			return nil, err
		}
		if w == nil {
			return nil, fmt.Errorf("similar pairs do not differ in any column")
		}
		d, rank := w.Dims()
		l, out, err := m.maximise(ctx, transform(p.X, mat.DenseCopyOf(w.T())), dissimilar)
		if err != nil {
			return nil, err
		}
		// In the whitened basis sum_S d^2 is |L|_F^2.
		l.Scale(math.Sqrt(t)/mat.Norm(l, 2), l)
		var full mat.Dense
		full.Mul(l, w.T())
		r := &Result{L: &full, Metric: euclideanMetric, Iterations: out.iterations, Converged: out.converged,
			ObjectiveStart: math.Exp(-out.start) * math.Sqrt(t), ObjectiveEnd: math.Exp(-out.end) * math.Sqrt(t)}
		noteRank(r, "scatter of similar pairs", rank, d)
		return r, nil
	})
}

// maximise minimises log |L|_F - log sum_D |L (x_a - x_b)|.
func (m MMC) maximise(ctx context.Context, x *mat.Dense, dissimilar []Pair) (*mat.Dense, outcome, error) {
	n, d := x.Dims()
	steps := m.MaxIterations
	if steps == 0 {
		steps = 1000
	}
	l := identity(d, d)
	dist := make([]float64, len(dissimilar))
	out, err := minimise(ctx, l.RawMatrix().Data, func(v, grad []float64) float64 {
		l, g := mat.NewDense(d, d, v), mat.NewDense(d, d, grad)
		z := transform(x, l)
		sum := 0.0
		for k, v := range squaredPairs(dist, z, dissimilar) {
			dist[k] = math.Sqrt(v)
			sum += dist[k]
		}
		q := mat.NewDense(n, d, nil)
		laplacian(q, z, dissimilar, func(k int) float64 {
			if dist[k] == 0 {
				return 0
			}
			return -1 / (dist[k] * sum)
		})
		g.Mul(q.T(), x)
		norm := mat.Norm(l, 2)
		axpy(grad, 1/(norm*norm), v)
		return math.Log(norm) - math.Log(sum)
	}, descent{iterations: steps, change: 1e-12, gradient: 1e-9})
	return l, out, err
}
