package linear

import (
	"context"
	"fmt"

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
