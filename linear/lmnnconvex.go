package linear

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ConvexLMNN minimises the objective of LMNN over M itself, in which it is
// convex, by projected subgradient steps: M is put back on the cone of positive
// semidefinite matrices by setting negative eigenvalues to 0 (Weinberger and
// Saul 2009, section 3.3; textbook section 63.2.1). Its minimum is global;
// LMNN's square factor reaches the same one faster.
type ConvexLMNN struct {
	// K and Regularization are as in LMNN.
	K              int
	Regularization float64
	// MaxIterations bounds the steps; 0 means 500.
	MaxIterations int
	Seed          uint64
	Engine        Engine
}

// Name returns "lmnn-convex".
func (ConvexLMNN) Name() string { return "lmnn-convex" }

// Fit needs labels of at least two classes.
func (c ConvexLMNN) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(c.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		set, err := newActiveSet(ctx, c.Engine, x, labels, c.K, c.Regularization)
		if err != nil {
			return nil, err
		}
		steps := c.MaxIterations
		if steps == 0 {
			steps = 500
		}
		return set.project(ctx, steps, cappedTrace{})
	})
}

// project walks along negative subgradients; a step that raises the objective
// is undone and halved, one that lowers it grows the next. The penalty is added
// to the objective.
func (s *activeSet) project(ctx context.Context, steps int, penalty cappedTrace) (*Result, error) {
	const settled = 1e-7
	renewEvery := 15
	if penalty.weight > 0 {
		renewEvery = 1 // a metric that shrinks brings every row within the margin
	}
	_, d := s.x.Dims()
	m := mat.NewSymDense(d, nil)
	addIdentity(m, 1)
	l := identity(d, d)
	if err := s.renew(ctx, l); err != nil {
		return nil, err
	}
	start, err := eigenOf(m)
	if err != nil {
		return nil, err
	}
	f, g := s.subgradient(l, start, penalty)
	r := &Result{L: l, Metric: euclideanMetric, Minimised: true, ObjectiveStart: f.total}
	step := .1 * math.Sqrt(float64(d)) / max(mat.Norm(g, 2), 1e-300)
	still := 0
	for r.Iterations < steps && still < 5 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Iterations++
		next := mat.NewSymDense(d, nil)
		next.ScaleSym(-step, g)
		next.AddSym(next, m)
		e, err := eigenOf(next)
		if err != nil {
			return nil, err
		}
		lNext := e.factor()
		fNext, gNext := s.subgradient(lNext, e, penalty)
		if !(fNext.total < f.total) {
			step /= 2
			if step*mat.Norm(g, 2) < 1e-12*mat.Norm(m, 2) {
				break
			}
			continue
		}
		if f.total-fNext.total < settled*max(1, f.total) {
			still++
		} else {
			still = 0
		}
		m, l, f, g = gram(lNext), lNext, fNext, gNext
		step *= 1.2
		if r.Iterations%renewEvery == 0 {
			if err := s.extend(ctx, l); err != nil {
				return nil, err
			}
			f, g = s.subgradient(l, e, penalty)
		}
	}
	if err := s.renew(ctx, l); err != nil {
		return nil, err
	}
	r.Converged = r.Iterations < steps
	s.round = 0
	e, err := eigenOf(m)
	if err != nil {
		return nil, err
	}
	r.L, r.ObjectiveEnd = l, s.value(transform(s.x, l), nil, nil).total+penalty.value(e)
	return r, nil
}

// subgradient with respect to M = L^T L, whose decomposition is e: the weighted
// scatter of the pairs, and what the penalty adds.
func (s *activeSet) subgradient(l *mat.Dense, e eigen, penalty cappedTrace) (lmnnValue, *mat.SymDense) {
	_, d := s.x.Dims()
	q := mat.NewDense(s.n, d, nil)
	v := s.value(transform(s.x, l), s.x, q)
	var g mat.Dense
	g.Mul(s.x.T(), q)
	out := symmetrised(&g)
	v.total += penalty.value(e)
	penalty.addGradient(out, e)
	return v, out
}
