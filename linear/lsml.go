package linear

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// LSML is metric learning from relative comparisons by minimizing squared
// residuals (Liu et al. 2012): over quadruplets (a, b, c, d) that should have
// d_ab < d_cd it minimizes the mean of [d_ab - d_cd]+^2, of unsquared
// distances, plus tr M - log det M, which draws M to the identity.
type LSML struct {
	// MaxIterations bounds L-BFGS; 0 means 1000.
	MaxIterations int
	// Quadruplets to draw from labels with Seed; 0 means 20 C^2.
	Quadruplets int
	Seed        uint64
}

// Name returns "lsml".
func (LSML) Name() string { return "lsml" }

// Fit needs quadruplets, triplets or labels.
func (m LSML) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		q, err := m.quadruplets(p)
		if err != nil {
			return nil, err
		}
		steps := m.MaxIterations
		if steps == 0 {
			steps = 1000
		}
		near, far := make([]Pair, len(q)), make([]Pair, len(q))
		for k, v := range q {
			near[k], far[k] = Pair{v[0], v[1]}, Pair{v[2], v[3]}
		}
		n, d := p.X.Dims()
		l := identity(d, d)
		dn, df := make([]float64, len(q)), make([]float64, len(q))
		out, err := lbfgs.Minimize(ctx, l.RawMatrix().Data, func(v, grad []float64) float64 {
			l, g := mat.NewDense(d, d, v), mat.NewDense(d, d, grad)
			var lu mat.LU
			lu.Factorize(l)
			logDet, _ := lu.LogDet()
			var inverse mat.Dense
			if math.IsInf(logDet, -1) || lu.Cond() > 1e14 || lu.SolveTo(&inverse, true, identity(d, d)) != nil {
				return math.Inf(1)
			}
			z := transform(p.X, l)
			squaredPairs(dn, z, near)
			squaredPairs(df, z, far)
			f := 0.0
			for k := range dn {
				dn[k], df[k] = math.Sqrt(dn[k]), math.Sqrt(df[k])
				if e := dn[k] - df[k]; e > 0 {
					f += e * e / float64(len(q))
				}
			}
			lap := mat.NewDense(n, d, nil)
			weight := func(of []float64, sign float64) func(k int) float64 {
				return func(k int) float64 {
					e := dn[k] - df[k]
					if e <= 0 || of[k] == 0 {
						return 0
					}
					return sign * e / of[k] / float64(len(q))
				}
			}
			laplacian(lap, z, near, weight(dn, 1))
			laplacian(lap, z, far, weight(df, -1))
			g.Mul(lap.T(), p.X)
			g.Add(g, l)
			g.Sub(g, &inverse)
			g.Scale(2, g)
			norm := mat.Norm(l, 2)
			return f + norm*norm - 2*logDet
		}, lbfgs.Limits{Iterations: steps, Change: 1e-12, Gradient: 1e-8})
		if err != nil {
			return nil, err
		}
		return &Result{L: l, Metric: euclideanMetric, Minimized: true, Iterations: out.Iterations, Converged: out.Converged,
			ObjectiveStart: out.Start, ObjectiveEnd: out.End}, nil
	})
}

func (m LSML) quadruplets(p *Problem) ([]Quadruplet, error) {
	switch {
	case len(p.Quadruplets) > 0:
		return p.Quadruplets, nil
	case len(p.Triplets) > 0:
		q := make([]Quadruplet, len(p.Triplets))
		for k, t := range p.Triplets {
			q[k] = Quadruplet{t[0], t[1], t[0], t[2]}
		}
		return q, nil
	}
	n := m.Quadruplets
	if n == 0 {
		c := len(distinctLabels(p.Labels))
		n = 20 * c * c
	}
	return SampleQuadruplets(p.Labels, n, m.Seed)
}
