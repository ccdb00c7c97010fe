package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// CAP is metric learning with a capped trace norm (Huo, Nie and Huang 2016): the
// hinge of relative constraints plus Gamma/2 * sum_k min(lambda_k, Threshold) over
// the eigenvalues of M. Only small eigenvalues are pressed, to 0; those beyond the
// threshold are free, so that M becomes low-rank without a rank being set, and
// directions of noise are dropped.
//
// The constraints are those of LMNN: each row's targets are nearer than rows of
// other classes by 1. The paper's own constraints are given quadruplets.
type CAP struct {
	// K is the number of targets, see LMNN.
	K int
	// Gamma weighs the penalty by the triplets that are violated at the start; 0
	// means 0.005.
	Gamma float64
	// Threshold is the cap. M starts from the identity, and with a threshold above
	// 1 every direction is pressed until the constraints make it grow past it; 0
	// means 2.
	Threshold float64
	// MaxIterations bounds the steps; 0 means 500.
	MaxIterations int
	Seed          uint64
	Engine        Engine
}

// Name returns "cap".
func (CAP) Name() string { return "cap" }

// Fit needs labels of at least two classes.
func (c CAP) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(c.Name(), p, func() (*Result, error) {
		if !(c.Gamma >= 0) || !(c.Threshold >= 0) {
			return nil, fmt.Errorf("gamma is %v and the threshold %v, want 0 or more", c.Gamma, c.Threshold)
		}
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		// No pull: the hinge alone is the loss.
		set, err := newActiveSet(ctx, c.Engine, x, labels, c.K, 0)
		if err != nil {
			return nil, err
		}
		set.reg, set.round = 0, .1
		gamma, threshold, steps := c.Gamma, c.Threshold, c.MaxIterations
		if gamma == 0 {
			gamma = .005
		}
		if threshold == 0 {
			threshold = 2
		}
		if steps == 0 {
			steps = 500
		}
		_, d := x.Dims()
		if err := set.renew(ctx, identity(d, d)); err != nil {
			return nil, err
		}
		violated := set.value(x, nil, nil).active
		r, err := set.project(ctx, steps, cappedTrace{gamma * float64(max(violated, 1)), threshold})
		if err != nil {
			return nil, err
		}
		e, err := eigenOf(gram(r.L))
		if err != nil {
			return nil, err
		}
		if rank := e.rank(); rank < d {
			r.note("the metric has rank %d of %d", rank, d)
		}
		return r, nil
	})
}

// cappedTrace is weight/2 * sum min(lambda, threshold).
type cappedTrace struct{ weight, threshold float64 }

func (c cappedTrace) value(e eigen) float64 {
	sum := 0.0
	for _, v := range e.values {
		sum += min(max(v, 0), c.threshold)
	}
	return c.weight / 2 * sum
}

// addGradient adds weight/2 times the projection on the eigenvectors below the
// threshold: the adaptive Fantope of the paper.
func (c cappedTrace) addGradient(g *mat.SymDense, e eigen) {
	if c.weight == 0 {
		return
	}
	d := len(e.values)
	for k, v := range e.values {
		if v < c.threshold {
			u := mat.Col(nil, k, e.vectors)
			g.SymRankOne(g, c.weight/2, mat.NewVecDense(d, u))
		}
	}
}

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
	r := &Result{L: l, Metric: euclideanMetric, Minimized: true, ObjectiveStart: s.exact(l) + penalty.value(start)}
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

// stationary reports whether M of gradient g is about as good as its neighbors on
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
	out := symmetrized(&g)
	v.total += penalty.value(e)
	penalty.addGradient(out, e)
	return v, out
}
