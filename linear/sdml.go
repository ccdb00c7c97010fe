package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// SDML is sparse distance metric learning (Qi et al. 2009): it minimizes
// tr(P M) - log det M + Sparsity * sum of |off-diagonal entries of M| with
// P = I + Balance (S - D), S and D the scatter sums of similar and dissimilar
// pairs. It is a graphical lasso, solved here by the alternating direction
// method of multipliers (Boyd et al. 2011, section 6.5).
type SDML struct {
	// Balance weighs the pairs. 0 means 0.5 over the number of similar pairs,
	// halved until P is positive definite.
	Balance float64
	// Sparsity is the weight of the penalty; 0 means 0.01.
	Sparsity float64
	// MaxIterations bounds the steps; 0 means 2000.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "sdml".
func (SDML) Name() string { return "sdml" }

// Fit needs similar and dissimilar pairs, or labels. A Balance that leaves the
// objective without a minimum is an error.
func (m SDML) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		if m.Sparsity == 0 {
			m.Sparsity = .01
		}
		if m.Sparsity < 0 || m.Balance < 0 {
			return nil, fmt.Errorf("balance %v and sparsity %v, want positive numbers", m.Balance, m.Sparsity)
		}
		steps := m.MaxIterations
		if steps == 0 {
			steps = 2000
		}
		diff := scatterOf(p.X, similar)
		subSym(diff, diff, scatterOf(p.X, dissimilar))
		prior, err := m.prior(diff, len(similar))
		if err != nil {
			return nil, err
		}
		r := &Result{Metric: euclideanMetric, Minimized: true}
		mm, err := graphicalLasso(ctx, prior, m.Sparsity, steps, r)
		if err != nil {
			return nil, err
		}
		if r.L, err = factorOf(mm); err != nil {
			return nil, err
		}
		fixSigns(r.L)
		return r, nil
	})
}

// prior is P.
func (m SDML) prior(diff *mat.SymDense, pairs int) (*mat.SymDense, error) {
	balance := m.Balance
	if balance == 0 {
		balance = .5 / float64(pairs)
	}
	for {
		p := mat.NewSymDense(diff.SymmetricDim(), nil)
		p.ScaleSym(balance, diff)
		addIdentity(p, 1)
		if m.Balance != 0 {
			return p, nil
		}
		e, err := eigenOf(p)
		if err != nil {
			return nil, err
		}
		if e.values[len(e.values)-1] > 1e-3 {
			return p, nil
		}
		balance /= 2
	}
}

// graphicalLasso minimizes tr(P M) - log det M + sparsity |M|_1,off. It does so for
// columns scaled to a diagonal of ones of P, which leaves each entry a penalty of
// its own, and scales M back: the units of columns change nothing.
func graphicalLasso(ctx context.Context, p *mat.SymDense, sparsity float64, steps int, r *Result) (*mat.SymDense, error) {
	const tolerance = 1e-8
	d := p.SymmetricDim()
	r.ObjectiveStart = mat.Trace(p)
	scale := make([]float64, d)
	for i := range scale {
		if !(p.At(i, i) > 0) {
			return nil, fmt.Errorf("the objective has no minimum with this balance, lower it")
		}
		scale[i] = 1 / math.Sqrt(p.At(i, i))
	}
	scaled, penalty := congruentDiagonal(scale, p), mat.NewSymDense(d, nil)
	for i := range d {
		for j := i + 1; j < d; j++ {
			penalty.SetSym(i, j, sparsity*scale[i]*scale[j])
		}
	}
	z, u := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	addIdentity(z, 1)
	rho := 1.0
	for r.Iterations < steps && !r.Converged {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Iterations++
		// x minimizes tr(Px) - log det x + rho/2 |x - z + u|^2.
		a := mat.NewSymDense(d, nil)
		subSym(a, z, u)
		a.ScaleSym(rho, a)
		subSym(a, a, scaled)
		e, err := eigenOf(a)
		if err != nil {
			return nil, fmt.Errorf("the objective has no minimum with this balance, lower it: %w", err)
		}
		x := e.apply(d, func(v float64) float64 {
			root := math.Sqrt(v*v + 4*rho)
			if v < 0 { // without cancellation
				return 2 / (root - v)
			}
			return (v + root) / (2 * rho)
		})
		primal, dual, size := shrink(z, u, x, penalty, rho)
		if !(size < 1e12) {
			return nil, fmt.Errorf("the objective has no minimum with this balance, lower it")
		}
		dual *= rho
		r.Converged = primal < tolerance*size && dual < tolerance*(mat.Norm(u, 2)*rho+size)
		switch {
		case primal > 10*dual:
			rho *= 2
			u.ScaleSym(.5, u)
		case dual > 10*primal:
			rho /= 2
			u.ScaleSym(2, u)
		}
	}
	z = congruentDiagonal(scale, z)
	e, err := eigenOf(z)
	if err != nil {
		return nil, err
	}
	if !(e.values[d-1] > 0) {
		return nil, fmt.Errorf("no positive definite solution after %d steps: lower the balance", r.Iterations)
	}
	r.ObjectiveEnd = lassoObjective(p, z, e, sparsity)
	return z, nil
}

// congruentDiagonal returns D a D for the diagonal matrix D of scale.
func congruentDiagonal(scale []float64, a *mat.SymDense) *mat.SymDense {
	d := len(scale)
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			out.SetSym(i, j, scale[i]*scale[j]*a.At(i, j))
		}
	}
	return out
}

// shrink sets z to x + u with each entry drawn to 0 by its penalty over rho, and u
// to its remainder, and returns the norms of x - z, of the change of z, and of z.
func shrink(z, u, x, penalty *mat.SymDense, rho float64) (primal, dual, size float64) {
	d := z.SymmetricDim()
	for i := range d {
		for j := i; j < d; j++ {
			v := x.At(i, j) + u.At(i, j)
			v = math.Copysign(max(math.Abs(v)-penalty.At(i, j)/rho, 0), v)
			primal += (x.At(i, j) - v) * (x.At(i, j) - v)
			dual += (z.At(i, j) - v) * (z.At(i, j) - v)
			size += v * v
			u.SetSym(i, j, u.At(i, j)+x.At(i, j)-v)
			z.SetSym(i, j, v)
		}
	}
	return math.Sqrt(primal), math.Sqrt(dual), math.Sqrt(size)
}

func lassoObjective(p, m *mat.SymDense, e eigen, sparsity float64) float64 {
	f := 0.0
	for i := range len(e.values) {
		f -= math.Log(e.values[i])
		for j := range len(e.values) {
			f += p.At(i, j) * m.At(i, j)
			if i != j {
				f += sparsity * math.Abs(m.At(i, j))
			}
		}
	}
	return f
}
