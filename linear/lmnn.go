package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// LMNN is large margin nearest neighbors (Weinberger and Saul 2009; textbook
// sections 16.2.1.1 and 63.2.1): it minimizes
// Regularization * pull + (1 - Regularization) * push, where pull is the sum of
// squared distances to K target neighbors of the same class (the nearest by
// Euclidean distance, fixed), and push the sum over rows i, targets j and rows l
// of other classes of [1 + d_ij - d_il]+.
//
// Only impostors near the margin are looked at: an active set, found by a
// search over all rows and renewed as L moves. The reported objective is over
// all rows. Memory is that of the set, so rows should be scaled: where most
// distances are below the margin of 1, most pairs of rows are in it. The descent runs in the basis that whitens the rows, where it
// converges many times faster if columns are correlated.
type LMNN struct {
	// K target neighbors; 0 means 3. A smaller class has fewer.
	K int
	// Regularization is the weight of pull, between 0 and 1; 0 means 0.5.
	Regularization float64
	// Dim is the number of rows of L; 0 means d.
	Dim int
	// Init is L at the start; see NCA.
	Init *mat.Dense
	// MaxIterations bounds L-BFGS over all renewals; 0 means 200.
	MaxIterations int
	Seed          uint64
	Engine        Engine
}

// Name returns "lmnn".
func (LMNN) Name() string { return "lmnn" }

// Fit needs labels of at least two classes.
func (m LMNN) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		l, err := startFactor(m.Init, m.Dim, x, labels)
		if err != nil {
			return nil, err
		}
		set, err := newActiveSet(ctx, m.Engine, x, labels, m.K, m.Regularization)
		if err != nil {
			return nil, err
		}
		steps := m.MaxIterations
		if steps == 0 {
			steps = 200
		}
		back, err := set.whiten(l)
		if err != nil {
			return nil, err
		}
		r, err := set.descend(ctx, back.start, steps)
		if err != nil {
			return nil, err
		}
		r.L = mat.NewDense(back.h, back.d, nil)
		r.L.Mul(back.start, back.basis.T())
		return r, nil
	})
}

// whitened is a change of basis: start is L in the new one, basis (d, r) leads
// back.
type whitened struct {
	h, d  int
	start *mat.Dense
	basis *mat.Dense
}

// whiten puts the rows into the basis in which their covariance is the
// identity. Directions in which no row differs drop out.
func (s *activeSet) whiten(l *mat.Dense) (whitened, error) {
	h, d := l.Dims()
	centered := s.centered()
	cov := mat.NewSymDense(d, nil)
	cov.SymOuterK(1/float64(s.n), centered.T())
	w, err := whitening(cov)
	if err != nil {
		return whitened{}, err
	}
	if w == nil {
		return whitened{}, fmt.Errorf("all rows coincide")
	}
	_, r := w.Dims()
	root := mat.NewDense(d, r, nil) // W^T root = I
	root.Mul(cov, w)
	start := mat.NewDense(h, r, nil)
	start.Mul(l, root)
	var x mat.Dense
	x.Mul(centered, w)
	s.x = &x
	return whitened{h, d, start, w}, nil
}

// centered returns the rows less their mean: distances of rows far from 0 would lose
// digits. A column that varies by rounding alone becomes 0.
func (s *activeSet) centered() *mat.Dense {
	const rounding = 1e-13
	_, d := s.x.Dims()
	out := mat.DenseCopyOf(s.x)
	for j := range d {
		column := mat.Col(nil, j, s.x)
		mean := floats.Sum(column) / float64(s.n)
		floats.AddConst(-mean, column)
		if floats.Norm(column, math.Inf(1)) <= rounding*math.Abs(mean) {
			clear(column)
		}
		out.SetCol(j, column)
	}
	return out
}

// descend alternates between renewing the active set and L-BFGS on it. Every
// round rounds the hinges off less, until the objective settles.
func (s *activeSet) descend(ctx context.Context, l *mat.Dense, steps int) (*Result, error) {
	const (
		settled  = 1e-5
		first    = .5
		sharpest = 1e-3
		inner    = 40
	)
	r := &Result{Metric: euclideanMetric, Minimized: true}
	best := mat.DenseCopyOf(l)
	s.round = first
	for {
		// What came in stays: rows that left may come back.
		if err := s.extend(ctx, l); err != nil {
			return nil, err
		}
		now := s.exact(l)
		switch {
		case r.Iterations == 0:
			r.ObjectiveStart, r.ObjectiveEnd = now, now
		case now < r.ObjectiveEnd:
			r.Converged = s.round <= sharpest && r.ObjectiveEnd-now < settled*now
			r.ObjectiveEnd = now
			best.Copy(l)
		default:
			r.Converged = s.round <= sharpest && now-r.ObjectiveEnd < settled*now
		}
		if r.Converged || r.Iterations >= steps {
			l.Copy(best)
			return r, nil
		}
		out, err := s.smooth(ctx, l, lbfgs.Limits{Iterations: min(inner, steps-r.Iterations), Change: 1e-7, Gradient: 1e-10})
		if err != nil {
			return nil, err
		}
		r.Iterations += max(out.Iterations, 1)
		s.round = max(s.round/2, sharpest)
	}
}

// exact is the objective at L over the active set, without rounding.
func (s *activeSet) exact(l *mat.Dense) float64 {
	round := s.round
	s.round = 0
	v := s.value(transform(s.x, l), nil, nil)
	s.round = round
	return v.total
}

// smooth runs L-BFGS on the rounded objective over the active set.
func (s *activeSet) smooth(ctx context.Context, l *mat.Dense, d lbfgs.Limits) (lbfgs.Outcome, error) {
	h, w := l.Dims()
	return lbfgs.Minimize(ctx, l.RawMatrix().Data, func(v, grad []float64) float64 {
		q := mat.NewDense(s.n, h, nil)
		z := transform(s.x, mat.NewDense(h, w, v))
		f := s.value(z, z, q).total
		g := mat.NewDense(h, w, grad)
		g.Mul(q.T(), s.x)
		g.Scale(2, g)
		return f
	}, d)
}

// targetsOf returns for each row its k nearest rows of the same class by
// Euclidean distance, the lower row first among equals.
func targetsOf(ctx context.Context, x *mat.Dense, labels []int, k int) ([][]int, error) {
	out := make([][]int, len(labels))
	_, classes := byClass(labels)
	for _, c := range classes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := min(k, len(c)-1)
		if m == 0 {
			continue
		}
		cx := selectRows(x, c)
		inParts(len(c), func(_, lo, hi int) {
			dist := make([]float64, len(c))
			for i := lo; i < hi; i++ {
				squaredTo(dist, cx, i)
				out[c[i]] = make([]int, 0, m)
				for _, j := range nearest(dist, m, i) {
					out[c[i]] = append(out[c[i]], c[j])
				}
			}
		})
	}
	return out, nil
}

func checkRegularization(v float64) (float64, error) {
	if v == 0 {
		return .5, nil
	}
	if !(v > 0 && v < 1) {
		return 0, fmt.Errorf("regularization is %v, want a number between 0 and 1", v)
	}
	return v, nil
}
