package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Divergence is what draws M to the identity in ODML.
type Divergence string

// The convex regularizers of Xie et al. (2018), with E = M + epsilon I.
const (
	// CSFN is the squared Frobenius norm |M - I|^2 + tr M.
	CSFN Divergence = "csfn"
	// CVND is von Neumann's divergence tr(E log E - E + I) + tr M.
	CVND Divergence = "cvnd"
	// CLDD is the log-determinant divergence
	// tr E - log det E - d - (1 + log epsilon) tr M.
	CLDD Divergence = "cldd"
)

func (d Divergence) validate() error {
	switch d {
	case CSFN, CVND, CLDD:
		return nil
	}
	return fmt.Errorf("regularizer %q, want %s, %s or %s", d, CSFN, CVND, CLDD)
}

// ODML is orthogonality-promoting distance metric learning (Xie et al. 2018,
// arXiv 1802.06014): with q the squared distance of a pair it minimizes
//
//	mean of q over similar pairs + mean of [Tau - q]+ over dissimilar pairs + Lambda R(M),
//
// R one of three convex regularizers that ask the rows of a factor of M to be
// orthonormal. It is a reconstruction: its equations follow the paper's abstract and
// were derived anew, and the authors' constants are not known.
//
// The problem is solved by its dual, max over 0 <= a_k <= 1 of
//
//	Tau mean(a) + min over M >= 0 of <G, M> + Lambda R(M), G = mean of similar (x-y)(x-y)^T - mean of a_k (x-y)(x-y)^T,
//
// whose inner minimum is found eigenvalue by eigenvalue, by accelerated projected
// gradient steps (Beck and Teboulle 2009) that begin anew where they stop to ascend
// (O'Donoghue and Candes 2015).
type ODML struct {
	// Regularizer is CSFN if empty.
	Regularizer Divergence
	// Tau is the squared distance beyond which dissimilar pairs cost nothing; 0 means
	// their mean squared Euclidean distance.
	Tau float64
	// Lambda weighs the regularizer; 0 means a tenth of the number of columns, so that
	// standardized columns may be many or few.
	Lambda float64
	// Epsilon keeps the logarithms of CVND and CLDD finite; 0 means 0.001.
	Epsilon float64
	// MaxIterations bounds the steps; 0 means 5000.
	MaxIterations int
	// Tolerance on the objective over its minimum, relative to the objective; 0 means
	// 1e-5.
	Tolerance float64
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "odml".
func (ODML) Name() string { return "odml" }

// Fit needs similar and dissimilar pairs, or labels. Converged says that the
// objective is proved to be within Tolerance of its minimum; if not, a note says
// what is proved.
func (o ODML) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(o.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, o.Pairs, o.Seed)
		if err != nil {
			return nil, err
		}
		f, err := o.problem(p.X, similar, dissimilar)
		if err != nil {
			return nil, err
		}
		steps, tolerance := o.MaxIterations, o.Tolerance
		if steps == 0 {
			steps = 5000
		}
		if tolerance == 0 {
			tolerance = 1e-5
		}
		if !(tolerance > 0) {
			return nil, fmt.Errorf("tolerance is %v, want a positive number", tolerance)
		}
		return f.solve(ctx, steps, tolerance)
	})
}

// odmlProblem is the objective of ODML and its dual.
type odmlProblem struct {
	x                *mat.Dense
	dissimilar       []Pair
	pull             *mat.SymDense // mean scatter of similar pairs
	tau, lambda, eps float64
	kind             Divergence
}

// problem checks the settings and puts in what they stand for.
func (o ODML) problem(x *mat.Dense, similar, dissimilar []Pair) (*odmlProblem, error) {
	f := &odmlProblem{x: x, dissimilar: dissimilar, tau: o.Tau, lambda: o.Lambda, eps: o.Epsilon, kind: o.Regularizer}
	if f.kind == "" {
		f.kind = CSFN
	}
	if _, d := x.Dims(); f.lambda == 0 {
		f.lambda = .1 * float64(d)
	}
	if f.eps == 0 {
		f.eps = 1e-3
	}
	if f.tau == 0 {
		for _, v := range squaredPairs(nil, x, dissimilar) {
			f.tau += v / float64(len(dissimilar))
		}
	}
	if err := f.kind.validate(); err != nil {
		return nil, err
	}
	switch {
	case !(f.tau > 0) || math.IsInf(f.tau, 1):
		return nil, fmt.Errorf("tau is %v, want a positive number; by default it is the mean squared distance of dissimilar pairs", f.tau)
	case !(f.lambda > 0) || math.IsInf(f.lambda, 1):
		return nil, fmt.Errorf("lambda is %v, want a positive number", f.lambda)
	case !(f.eps > 0 && f.eps < 1):
		return nil, fmt.Errorf("epsilon is %v, want a number between 0 and 1", f.eps)
	}
	f.pull = scatterOf(x, similar)
	f.pull.ScaleSym(1/float64(len(similar)), f.pull)
	return f, nil
}

// at is the regularizer at one eigenvalue m >= 0 of M.
func (f *odmlProblem) at(m float64) float64 {
	e := m + f.eps
	switch f.kind {
	case CVND:
		return e*math.Log(e) - e + 1 + m
	case CLDD:
		return e - math.Log(e) - 1 - (1+math.Log(f.eps))*m
	}
	return (m-1)*(m-1) + m
}

// slope is the derivative of at.
func (f *odmlProblem) slope(m float64) float64 {
	switch f.kind {
	case CVND:
		return math.Log(m+f.eps) + 1
	case CLDD:
		return -1/(m+f.eps) - math.Log(f.eps)
	}
	return 2*m - 1
}

// least is the m >= 0 at which g m + lambda at(m) is least: where lambda slope(m) is
// -g, or 0. It is infinite where there is none.
func (f *odmlProblem) least(g float64) float64 {
	g /= f.lambda
	switch f.kind {
	case CVND:
		return max(math.Exp(-g-1)-f.eps, 0)
	case CLDD:
		inverse := g - math.Log(f.eps)
		if inverse <= 0 {
			return math.Inf(1)
		}
		return max(1/inverse-f.eps, 0)
	}
	return max((1-g)/2, 0)
}

// value returns the objective at M and, unless grad is nil, its gradient by M, that of
// a hinge at its bend being 0.
func (f *odmlProblem) value(m *mat.SymDense, grad *mat.SymDense) (float64, error) {
	e, err := eigenOf(m)
	if err != nil {
		return 0, err
	}
	for i, v := range e.values { // rounding may leave a little below 0
		e.values[i] = max(v, 0)
	}
	q := squaredPairs(nil, transform(f.x, e.factor()), f.dissimilar)
	if grad != nil {
		f.gradient(grad, func(k int) float64 {
			if q[k] < f.tau {
				return 1
			}
			return 0
		})
		g := e.apply(len(e.values), f.slope)
		g.ScaleSym(f.lambda, g)
		grad.AddSym(grad, g)
	}
	return f.total(m, e, q), nil
}

// total is the objective, of M, its eigenvalues, and the squared distances of
// dissimilar pairs.
func (f *odmlProblem) total(m *mat.SymDense, e eigen, q []float64) float64 {
	sum := inner(f.pull, m)
	for _, v := range q {
		sum += max(f.tau-v, 0) / float64(len(q))
	}
	for _, v := range e.values {
		sum += f.lambda * f.at(v)
	}
	return sum
}

// gradient sets g to the mean scatter of similar pairs less that of dissimilar ones
// with weights.
func (f *odmlProblem) gradient(g *mat.SymDense, weight func(k int) float64) {
	n, d := f.x.Dims()
	q := mat.NewDense(n, d, nil)
	laplacian(q, f.x, f.dissimilar, func(k int) float64 { return weight(k) / float64(len(f.dissimilar)) })
	var s mat.Dense
	s.Mul(f.x.T(), q)
	subSym(g, f.pull, symmetrized(&s))
}

// inner is the sum of products of entries.
func inner(a, b *mat.SymDense) (sum float64) {
	d := a.SymmetricDim()
	for i := range d {
		for j := range d {
			sum += a.At(i, j) * b.At(i, j)
		}
	}
	return sum
}

// odmlPoint is a point of the dual problem with what belongs to it.
type odmlPoint struct {
	a      []float64
	dual   float64   // -Inf outside of the domain
	slope  []float64 // of the dual, times the number of pairs
	m      *mat.SymDense
	primal float64 // the objective at m
}

// dualAt computes a point. With onlyDual the primal value is left out.
func (f *odmlProblem) dualAt(a []float64, onlyDual bool) (odmlPoint, error) {
	_, d := f.x.Dims()
	g := mat.NewSymDense(d, nil)
	f.gradient(g, func(k int) float64 { return a[k] })
	e, err := eigenOf(g)
	if err != nil {
		return odmlPoint{}, err
	}
	p := odmlPoint{a: a}
	for _, v := range a {
		p.dual += f.tau * v / float64(len(a))
	}
	for i, v := range e.values {
		m := f.least(v)
		if math.IsInf(m, 1) {
			p.dual = math.Inf(-1)
			return p, nil
		}
		p.dual += v*m + f.lambda*f.at(m)
		e.values[i] = m
	}
	if onlyDual {
		return p, nil
	}
	p.m = e.apply(d, func(v float64) float64 { return v })
	q := squaredPairs(nil, transform(f.x, e.factor()), f.dissimilar)
	p.primal = f.total(p.m, e, q)
	for k, v := range q {
		q[k] = f.tau - v
	}
	p.slope = q
	return p, nil
}

// solve ascends the dual until the objective at the best M is proved to be near its
// minimum.
func (f *odmlProblem) solve(ctx context.Context, steps int, tolerance float64) (*Result, error) {
	_, d := f.x.Dims()
	start := mat.NewSymDense(d, nil)
	addIdentity(start, 1)
	from, err := f.value(start, nil)
	if err != nil {
		return nil, err
	}
	r := &Result{Metric: euclideanMetric, Minimized: true, ObjectiveStart: from, ObjectiveEnd: math.Inf(1)}
	here, err := f.dualAt(make([]float64, len(f.dissimilar)), false)
	if err != nil {
		return nil, err
	}
	if math.IsInf(here.dual, -1) { // cannot be: the scatter of similar pairs is not negative
		return nil, fmt.Errorf("the problem has no minimum")
	}
	ahead, bound, momentum := here, here.dual, 1.0
	step := f.firstStep()
	var best *mat.SymDense
	for {
		if here.primal < r.ObjectiveEnd {
			r.ObjectiveEnd, best = here.primal, here.m
		}
		bound = max(bound, here.dual)
		r.Converged = r.ObjectiveEnd-bound <= tolerance*max(math.Abs(r.ObjectiveEnd), math.SmallestNonzeroFloat64)
		if r.Converged || r.Iterations >= steps {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, taken, err := f.step(ahead, &step)
		if err != nil {
			return nil, err
		}
		r.Iterations++
		if !taken { // rounding is in the way
			if momentum == 1 {
				break
			}
			ahead, momentum = here, 1
			continue
		}
		turn := 0.0
		for k, v := range next.a {
			turn += (ahead.a[k] - v) * (v - here.a[k])
		}
		if turn > 0 {
			momentum = 1
		}
		after := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		share := (momentum - 1) / after
		a := make([]float64, len(next.a))
		for k, v := range next.a {
			a[k] = min(max(v+share*(v-here.a[k]), 0), 1)
		}
		here, momentum = next, after
		ahead = here
		if share > 0 {
			if ahead, err = f.dualAt(a, false); err != nil {
				return nil, err
			}
			if math.IsInf(ahead.dual, -1) {
				ahead, momentum = here, 1
			}
		}
	}
	if r.L, err = factorOf(best); err != nil {
		return nil, err
	}
	if !r.Converged {
		r.note("not converged after %d steps: the objective is %.6g, its minimum is proved to be no less than %.6g; raise max-iterations", r.Iterations, r.ObjectiveEnd, bound)
	}
	return r, nil
}

// firstStep is a step whose change of M is of order 1.
func (f *odmlProblem) firstStep() float64 {
	return 8 * f.lambda / max(f.tau, math.SmallestNonzeroFloat64) / f.tau * float64(len(f.dissimilar))
}

// step goes up from a point, by the longest step of a halved sequence whose gain is
// that of a quadratic model, and reports whether there is one. The next search begins
// with a longer one.
func (f *odmlProblem) step(from odmlPoint, step *float64) (odmlPoint, bool, error) {
	const halvings = 60
	n := float64(len(from.a))
	*step *= 1.5
	for range halvings {
		a := make([]float64, len(from.a))
		gain, length := 0.0, 0.0
		for k, v := range from.a {
			a[k] = min(max(v+*step*from.slope[k]/n, 0), 1)
			gain += (a[k] - v) * from.slope[k] / n
			length += (a[k] - v) * (a[k] - v)
		}
		next, err := f.dualAt(a, true)
		if err != nil {
			return odmlPoint{}, false, err
		}
		rounding := 1e-14 * (math.Abs(from.dual) + 1)
		if next.dual >= from.dual+gain-length/(2**step)-rounding {
			next, err = f.dualAt(a, false)
			return next, err == nil && length > 0, err
		}
		*step /= 2
	}
	return odmlPoint{}, false, nil
}
