package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// L1ML learns a projection under which the L1 distances of similar pairs are small and
// those of dissimilar pairs large, after Wang, Nie and Huang (2014), Robust distance
// metric learning via simultaneous L1-norm minimization and maximization: it minimizes
//
//	sum over similar pairs of |W^T (x-y)|_1 / sum over dissimilar pairs of |W^T (x-y)|_1,  W^T W = I,
//
// W (d, Dim). A row far away counts for its distance there, not for its square. It is a
// reconstruction: the equation follows the paper's abstract, which names neither ratio
// nor constraint, and the solver is our own. W is the orthonormal factor of a free
// matrix; L-BFGS minimizes the logarithm of the ratio with |t| rounded to
// sqrt(t^2 + r^2), r being lowered in stages, from several starts. The ratio is not convex.
type L1ML struct {
	// Dim is how many columns W has; 0 means half of the columns of X, rounded up.
	Dim int
	// Starts are tried, the first from the directions in which dissimilar pairs differ
	// most in proportion to similar ones, the others drawn with Seed; 0 means 5.
	Starts int
	// MaxIterations bounds the steps of each stage of each start; 0 means 200.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "l1-ml".
func (L1ML) Name() string { return "l1-ml" }

// Fit needs similar and dissimilar pairs, or labels. Transformed rows are compared by
// their L1 distance.
func (l L1ML) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(l.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, l.Pairs, l.Seed)
		if err != nil {
			return nil, err
		}
		_, d := p.X.Dims()
		dim, starts, steps := l.Dim, l.Starts, l.MaxIterations
		if dim == 0 {
			dim = (d + 1) / 2
		}
		if starts == 0 {
			starts = 5
		}
		if steps == 0 {
			steps = 200
		}
		if dim < 0 || dim > d {
			return nil, fmt.Errorf("dim is %d, want 1 to %d, the number of columns", dim, d)
		}
		f := l1Ratio{x: p.X, similar: similar, dissimilar: dissimilar}
		best, rng := (*Result)(nil), newRand(l.Seed, 11)
		for start := range max(starts, 1) {
			v := mat.NewDense(d, dim, nil)
			if start == 0 {
				v, err = f.start(dim)
			} else {
				for i := range v.RawMatrix().Data {
					v.RawMatrix().Data[i] = rng.NormFloat64()
				}
			}
			if err != nil {
				return nil, err
			}
			r, err := f.minimize(ctx, v, steps)
			if err != nil {
				return nil, err
			}
			if best == nil || r.ObjectiveEnd < best.ObjectiveEnd {
				if best != nil {
					r.ObjectiveStart = best.ObjectiveStart
				}
				best = r
			}
		}
		fixSigns(best.L)
		return best, nil
	})
}

// l1Ratio is the objective of L1-ML.
type l1Ratio struct {
	x                   *mat.Dense
	similar, dissimilar []Pair
}

// sum returns the sum over pairs and columns of sqrt(t^2 + round^2), t being
// differences of rows of z, and adds its gradient, times unit, to the Laplacian q.
func (f *l1Ratio) sum(z *mat.Dense, pairs []Pair, round float64, q *mat.Dense, unit float64) (sum float64) {
	for _, p := range pairs {
		a, b := z.RawRowView(p[0]), z.RawRowView(p[1])
		for j, v := range a {
			t := v - b[j]
			r := math.Abs(t)
			if round > 0 {
				r = math.Hypot(t, round)
			}
			sum += r
			if q == nil || r == 0 {
				continue
			}
			q.RawRowView(p[0])[j] += unit * t / r
			q.RawRowView(p[1])[j] -= unit * t / r
		}
	}
	return sum
}

// value returns the ratio at W (d, m) and, unless grad is nil, its gradient without
// the constraint; a difference of 0 has slope 0.
func (f *l1Ratio) value(w *mat.Dense, round float64, grad *mat.Dense) float64 {
	var z mat.Dense
	z.Mul(f.x, w)
	if grad == nil {
		return f.sum(&z, f.similar, round, nil, 0) / f.sum(&z, f.dissimilar, round, nil, 0)
	}
	n, m := z.Dims()
	near, far := f.sum(&z, f.similar, round, nil, 0), f.sum(&z, f.dissimilar, round, nil, 0)
	q := mat.NewDense(n, m, nil)
	f.sum(&z, f.similar, round, q, 1/far)
	f.sum(&z, f.dissimilar, round, q, -near/(far*far))
	grad.Mul(f.x.T(), q)
	return near / far
}

// start spans the directions of the largest ratio of the mean scatters.
func (f *l1Ratio) start(dim int) (*mat.Dense, error) {
	_, d := f.x.Dims()
	s, t := scatterOf(f.x, f.similar), scatterOf(f.x, f.dissimilar)
	if trace := mat.Trace(s); trace > 0 {
		addIdentity(s, 1e-6*trace/float64(d))
	} else {
		addIdentity(s, 1)
	}
	_, v, err := generalized(t, s)
	if err != nil {
		return nil, err
	}
	return mat.DenseCopyOf(v.Slice(0, d, 0, dim)), nil
}

// minimize goes down from the column space of v.
func (f *l1Ratio) minimize(ctx context.Context, v *mat.Dense, steps int) (*Result, error) {
	d, m := v.Dims()
	w, err := newOrthonormal(v)
	if err != nil {
		return nil, err
	}
	v.Copy(&w.factor)
	r := &Result{Metric: manhattanMetric, Minimized: true, ObjectiveStart: f.value(v, 0, nil), Converged: true}
	if math.IsNaN(r.ObjectiveStart) || math.IsInf(r.ObjectiveStart, 0) {
		return nil, fmt.Errorf("dissimilar pairs do not differ in the directions that are tried")
	}
	var z mat.Dense
	z.Mul(f.x, v)
	typical := f.sum(&z, f.dissimilar, 0, nil, 0) / float64(m*len(f.dissimilar))
	at, least := v.RawMatrix().Data, r.ObjectiveStart
	best := mat.DenseCopyOf(v)
	for _, share := range []float64{.3, .03, .003, 3e-4, 3e-5} {
		round := share * typical
		out, err := lbfgs.Minimize(ctx, at, func(v, grad []float64) float64 {
			o, err := newOrthonormal(mat.NewDense(d, m, v))
			if err != nil {
				return math.Inf(1)
			}
			by := mat.NewDense(d, m, nil)
			value := f.value(&o.factor, round, by)
			o.backward(mat.NewDense(d, m, grad), by)
			return value
		}, lbfgs.Limits{Iterations: steps, Change: 1e-12, Gradient: 1e-10})
		if err != nil {
			return nil, err
		}
		r.Iterations += out.Iterations
		r.Converged = out.Converged
		o, err := newOrthonormal(v)
		if err != nil {
			return nil, err
		}
		if now := f.value(&o.factor, 0, nil); now < least {
			least = now
			best.Copy(&o.factor)
		}
	}
	r.ObjectiveEnd, r.L = least, mat.DenseCopyOf(best.T())
	return r, nil
}

// orthonormal is the nearest matrix with orthonormal columns to one V (d, m): U P^T of
// the decomposition V = U S P^T.
type orthonormal struct {
	u, p, factor mat.Dense
	s            []float64
}

func newOrthonormal(v *mat.Dense) (*orthonormal, error) {
	var svd mat.SVD
	if !svd.Factorize(v, mat.SVDThin) {
		return nil, fmt.Errorf("the singular values of a matrix did not converge")
	}
	o := &orthonormal{s: svd.Values(nil)}
	if !(o.s[len(o.s)-1] > 1e-12*o.s[0]) {
		return nil, fmt.Errorf("the directions depend on each other")
	}
	svd.UTo(&o.u)
	svd.VTo(&o.p)
	o.factor.Mul(&o.u, o.p.T())
	return o, nil
}

// backward sets dv from the gradient g of the factor. With X = U^T g P it is
// U Y P^T + (g P - U X) S^-1 P^T, Y_ij = (X_ij - X_ji)/(s_i + s_j).
func (o *orthonormal) backward(dv, g *mat.Dense) {
	var gp, x, sum mat.Dense
	gp.Mul(g, &o.p)
	x.Mul(o.u.T(), &gp)
	m := len(o.s)
	sum.Mul(&o.u, &x)
	sum.Sub(&gp, &sum)
	for i := range sum.RawMatrix().Rows {
		row := sum.RawRowView(i)
		for j := range row {
			row[j] /= o.s[j]
		}
	}
	y := mat.NewDense(m, m, nil)
	for i := range m {
		for j := range m {
			y.Set(i, j, (x.At(i, j)-x.At(j, i))/(o.s[i]+o.s[j]))
		}
	}
	var inside mat.Dense
	inside.Mul(&o.u, y)
	sum.Add(&sum, &inside)
	dv.Mul(&sum, o.p.T())
}
