package linear

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// project walks along negative subgradients; a step that raises the objective
// is undone and halved, one that lowers it grows the next. The penalty is added
// to the objective.
func (s *activeSet) project(ctx context.Context, steps int, penalty cappedTrace) (*Result, error) {
	const settled = 1e-7
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
	r := &Result{L: l, Metric: euclideanMetric, Minimised: true, ObjectiveStart: s.exact(l) + penalty.value(start)}
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
		fNext, _ := s.subgradient(lNext, e, penalty)
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
		m, l = gram(lNext), lNext
		step *= 1.2
		// A metric that shrinks brings every row within the margin.
		if err := s.extend(ctx, l); err != nil {
			return nil, err
		}
		f, g = s.subgradient(l, e, penalty)
	}
	if err := s.renew(ctx, l); err != nil {
		return nil, err
	}
	e, err := eigenOf(m)
	if err != nil {
		return nil, err
	}
	if r.Converged, err = stationary(m, g, f.total); err != nil {
		return nil, err
	}
	r.Converged = r.Converged && r.Iterations < steps
	r.L, r.ObjectiveEnd = l, s.exact(l)+penalty.value(e)
	return r, nil
}

// stationary reports whether M of gradient g is about as good as its neighbours on
// the cone: <g, M> = 0 and g has no negative eigenvalue, in units of the objective.
func stationary(m, g *mat.SymDense, objective float64) (bool, error) {
	const tolerance = .01
	e, err := eigenOf(g)
	if err != nil {
		return false, err
	}
	var gm mat.Dense
	gm.Mul(g, m)
	lowest := min(e.values[len(e.values)-1], 0)
	return max(math.Abs(mat.Trace(&gm)), -lowest*mat.Trace(m)) <= tolerance*objective, nil
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
