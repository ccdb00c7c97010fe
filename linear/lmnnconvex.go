package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ConvexLMNN minimises the objective of LMNN over M itself, in which it is
// convex (Weinberger and Saul 2009, section 3.3; textbook section 63.2.1), and
// proves how near it came: a point of the dual problem bounds the minimum from
// below. It descends by L-BFGS on a square factor of M, which has no local minima
// besides the global one, in the basis that whitens the rows.
type ConvexLMNN struct {
	// K and Regularization are as in LMNN.
	K              int
	Regularization float64
	// MaxIterations bounds the steps of L-BFGS; 0 means 5000.
	MaxIterations int
	// Tolerance on the objective over its minimum, relative to the objective; 0
	// means 0.002.
	Tolerance float64
	Seed      uint64
	Engine    Engine
}

// Name returns "lmnn-convex".
func (ConvexLMNN) Name() string { return "lmnn-convex" }

// Fit needs labels of at least two classes. Converged says that the objective is
// proved to be within Tolerance of its minimum; if not, a note says what is proved.
func (c ConvexLMNN) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(c.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		if !(c.Tolerance >= 0) {
			return nil, fmt.Errorf("tolerance is %v, want 0 or more", c.Tolerance)
		}
		set, err := newActiveSet(ctx, c.Engine, x, labels, c.K, c.Regularization)
		if err != nil {
			return nil, err
		}
		steps, tolerance := c.MaxIterations, c.Tolerance
		if steps == 0 {
			steps = 5000
		}
		if tolerance == 0 {
			tolerance = .002
		}
		_, d := x.Dims()
		if err := set.renew(ctx, identity(d, d)); err != nil {
			return nil, err
		}
		start := set.value(x, nil, nil).total
		back, err := set.whiten(identity(d, d))
		if err != nil {
			return nil, err
		}
		l, err := set.wideStart(ctx)
		if err != nil {
			return nil, err
		}
		r, err := set.prove(ctx, l, steps, tolerance)
		if err != nil {
			return nil, err
		}
		r.ObjectiveStart = start
		if r.ObjectiveEnd > start { // the few steps allowed did not make up for another start
			r.L, r.ObjectiveEnd = back.start, start
		}
		var full mat.Dense
		full.Mul(r.L, back.basis.T())
		r.L = &full
		return r, nil
	})
}

// wideStart is a multiple of the identity for which the nearest row of another
// class is at distance 1, by the median over rows: the width of the margin.
func (s *activeSet) wideStart(ctx context.Context) (*mat.Dense, error) {
	_, d := s.x.Dims()
	near := make([]float64, s.n)
	err := squaredBlocks(ctx, s.eng, s.x, s.x, func(from, rows int, d2 []float64) error {
		for r := range rows {
			i := from + r
			near[i] = math.Inf(1)
			for j, v := range d2[r*s.n : (r+1)*s.n] {
				if s.labels[j] != s.labels[i] {
					near[i] = min(near[i], v)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l := identity(d, d)
	if typical := quantile(near, .5); typical > 0 {
		l.Scale(1/math.Sqrt(typical), l)
	}
	return l, nil
}

// prove alternates between renewing the active set, L-BFGS on it, and a bound from
// below, until the objective is within tolerance of the bound. The hinges are
// rounded off less once it is the rounding that keeps the two apart.
func (s *activeSet) prove(ctx context.Context, l *mat.Dense, steps int, tolerance float64) (*Result, error) {
	const (
		first = .5
		inner = 200
		// Rounds that may end without a lower objective: after them it is rounding that
		// stands in the way.
		patience = 30
		// An objective is a sum of hinges of width 1; one this small counts as 0.
		negligibleLoss = 1e-3
	)
	r := &Result{Metric: euclideanMetric, Minimised: true, ObjectiveEnd: math.Inf(1)}
	dual, err := newLMNNDual(s)
	if err != nil {
		return nil, err
	}
	bound := 0.0 // the objective is no less
	s.round = first
	idle := 0
	for {
		// What came in stays: rows that left may come back.
		if err := s.extend(ctx, l); err != nil {
			return nil, err
		}
		idle++
		if now := s.exact(l); now < r.ObjectiveEnd {
			idle = 0
			r.ObjectiveEnd, r.L = now, mat.DenseCopyOf(l)
		}
		at, err := dual.bound(s, l)
		if err != nil {
			return nil, err
		}
		bound = max(bound, at.value)
		r.Converged = r.ObjectiveEnd-bound <= tolerance*max(r.ObjectiveEnd, negligibleLoss)
		if r.Converged || r.Iterations >= steps || idle > patience {
			break
		}
		if at.rounding > tolerance/4*max(r.ObjectiveEnd, negligibleLoss) {
			s.round /= 2
		}
		if at.lacking != nil {
			if err := s.leave(l, at.lacking, r.ObjectiveEnd); err != nil {
				return nil, err
			}
		}
		out, err := s.smooth(ctx, l, descent{iterations: min(inner, steps-r.Iterations), change: 1e-9, gradient: 1e-10})
		if err != nil {
			return nil, err
		}
		r.Iterations += max(out.iterations, 1)
	}
	if !r.Converged {
		r.note("not converged after %d steps: the objective is %.6g, its minimum is proved to be no less than %.6g; raise max-iterations", r.Iterations, r.ObjectiveEnd, bound)
	}
	return r, nil
}
