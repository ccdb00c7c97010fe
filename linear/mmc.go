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
		es, err := eigenOf(s)
		if err != nil {
			return nil, err
		}
		rank := es.rank()
		if rank == 0 {
			return nil, fmt.Errorf("similar pairs do not differ in any column")
		}
		w := es.whitener(rank)
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
		_, d := p.X.Dims()
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

// DiagonalMMC is the diagonal form of Xing et al. (2002, section 2.1): weights
// w >= 0 of the columns that minimise
// sum_S sum_k w_k d_k^2 - C log(sum_D sqrt(sum_k w_k d_k^2)).
type DiagonalMMC struct {
	// C weighs the dissimilar pairs and with them the scale of w; 0 means 1.
	C float64
	// MaxIterations bounds L-BFGS; 0 means 1000.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "mmc-diag".
func (DiagonalMMC) Name() string { return "mmc-diag" }

// Fit needs similar and dissimilar pairs, or labels. A column in which similar
// pairs do not differ but dissimilar ones do would get infinite weight: it is an
// error that names it.
func (m DiagonalMMC) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		if m.C == 0 {
			m.C = 1
		}
		_, d := p.X.Dims()
		own, other := columnSpread(p.X, similar), columnSpread(p.X, dissimilar)
		for k := range d {
			if own[k] == 0 && other[k] > 0 {
				return nil, fmt.Errorf("column %d does not differ within any similar pair, so its weight has no bound; leave it out", k)
			}
		}
		v := make([]float64, d)
		for k := range v {
			if own[k] > 0 {
				v[k] = 1 / math.Sqrt(own[k])
			}
		}
		steps := m.MaxIterations
		if steps == 0 {
			steps = 1000
		}
		out, err := minimise(ctx, v, func(v, grad []float64) float64 { // w = v^2
			return diagonalObjective(p.X, dissimilar, own, m.C, v, grad)
		}, descent{iterations: steps, change: 1e-13, gradient: 1e-9})
		if err != nil {
			return nil, err
		}
		l := mat.NewDense(d, d, nil)
		for k := range d {
			l.Set(k, k, math.Abs(v[k]))
		}
		return &Result{L: l, Metric: euclideanMetric, Minimised: true, Iterations: out.iterations, Converged: out.converged,
			ObjectiveStart: out.start, ObjectiveEnd: out.end}, nil
	})
}

// columnSpread is the sum over pairs of the squared difference of each column.
func columnSpread(x *mat.Dense, pairs []Pair) []float64 {
	_, d := x.Dims()
	s := make([]float64, d)
	for _, p := range pairs {
		a, b := x.RawRowView(p[0]), x.RawRowView(p[1])
		for k := range s {
			s[k] += (a[k] - b[k]) * (a[k] - b[k])
		}
	}
	return s
}

func diagonalObjective(x *mat.Dense, dissimilar []Pair, own []float64, c float64, v, grad []float64) float64 {
	f := 0.0
	for k, s := range own {
		f += v[k] * v[k] * s
		grad[k] = 2 * v[k] * s
	}
	part := make([]float64, len(v))
	sum := 0.0
	for _, p := range dissimilar {
		a, b := x.RawRowView(p[0]), x.RawRowView(p[1])
		d2 := 0.0
		for k := range v {
			e := v[k] * (a[k] - b[k])
			d2 += e * e
		}
		if d2 == 0 {
			continue
		}
		d := math.Sqrt(d2)
		sum += d
		for k := range v {
			e := a[k] - b[k]
			part[k] += v[k] * e * e / d
		}
	}
	for k := range grad {
		grad[k] -= c * part[k] / sum
	}
	return f - c*math.Log(sum)
}
