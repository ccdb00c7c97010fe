package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// ConvexLMNN minimizes the objective of LMNN over M itself, in which it is
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
	r := &Result{Metric: euclideanMetric, Minimized: true, ObjectiveEnd: math.Inf(1)}
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
		out, err := s.smooth(ctx, l, lbfgs.Limits{Iterations: min(inner, steps-r.Iterations), Change: 1e-9, Gradient: 1e-10})
		if err != nil {
			return nil, err
		}
		r.Iterations += max(out.Iterations, 1)
	}
	if !r.Converged {
		r.note("not converged after %d steps: the objective is %.6g, its minimum is proved to be no less than %.6g; raise max-iterations", r.Iterations, r.ObjectiveEnd, bound)
	}
	return r, nil
}

// lmnnDual bounds the minimum of LMNN's convex form from below. With C the
// weighted scatter of rows and their targets and A_t = d_ij d_ij^T - d_il d_il^T
// over triplets, the problem is min <C, M> + w sum [1 + <A_t, M>]+ over M >= 0. Its
// dual is max sum a_t with 0 <= a_t <= w and C + sum a_t A_t >= 0.
//
// The slopes of the rounded hinges, times w, are nearly optimal there. They are
// made feasible by a factor of at most 1, for a_t = 0 is feasible.
type lmnnDual struct {
	pull  *mat.SymDense // C
	basis *mat.Dense    // whitens C on its range; nil if C is 0
	free  *mat.Dense    // spans what is left, where M costs nothing; nil if nothing is
}

func newLMNNDual(s *activeSet) (*lmnnDual, error) {
	_, d := s.x.Dims()
	q := mat.NewDense(s.n, d, nil)
	for i, t := range s.targets {
		for _, j := range t {
			addPair(q, s.x, i, j, s.reg)
		}
	}
	var c mat.Dense
	c.Mul(s.x.T(), q)
	var err error
	dual := &lmnnDual{pull: symmetrized(&c)}
	if dual.basis, err = whitening(dual.pull); err != nil {
		return nil, err
	}
	dual.free = complement(dual.basis, d)
	return dual, nil
}

// complement returns orthonormal columns that span what the columns of w (d, r) do
// not: nil for r = d, all for w nil.
func complement(w *mat.Dense, d int) *mat.Dense {
	if w == nil {
		return identity(d, d)
	}
	_, r := w.Dims()
	if r == d {
		return nil
	}
	var qr mat.QR
	qr.Factorize(w)
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, d, r, d))
}

// lmnnBound is a lower bound of the objective.
type lmnnBound struct {
	value float64
	// rounding is what the rounded hinges add to the distance of objective and
	// bound.
	rounding float64
	// lacking has columns v, scaled, along which M + v v^T has a lower objective: M
	// lost rank there. It is nil if there are none.
	lacking *mat.Dense
}

// bound uses the slopes at l.
func (u *lmnnDual) bound(s *activeSet, l *mat.Dense) (lmnnBound, error) {
	_, d := s.x.Dims()
	if u.free != nil {
		// A row of another class that differs where M costs nothing has weight 0.
		free := transform(s.x, mat.DenseCopyOf(u.free.T()))
		s.skip = func(i, l int) bool { return squared(free.RawRowView(i), free.RawRowView(l)) > rankTolerance }
		defer func() { s.skip = nil }()
	}
	q := mat.NewDense(s.n, d, nil)
	v := s.value(transform(s.x, l), s.x, q)
	var g mat.Dense
	g.Mul(s.x.T(), q)
	negated := symmetrized(&g)
	subSym(negated, u.pull, negated)
	w := 1 - s.reg
	out := lmnnBound{value: w * v.slopes, rounding: w * v.rounding}
	if u.basis != nil {
		e, err := eigenOf(congruent(u.basis, negated))
		if err != nil {
			return lmnnBound{}, err
		}
		out.value /= max(1, e.values[0])
		out.lacking = u.above(e)
	}
	return out, nil
}

// above returns the eigenvectors of eigenvalue over 1, along which the dual is not
// feasible, times the root of what they are over.
func (u *lmnnDual) above(e eigen) *mat.Dense {
	const rounding = 1e-6
	k := 0
	for k < len(e.values) && e.values[k] > 1+rounding {
		k++
	}
	if k == 0 {
		return nil
	}
	var v mat.Dense
	v.Mul(u.basis, e.vectors.Slice(0, len(e.values), 0, k))
	for j := range k {
		for i := range v.RawMatrix().Rows {
			v.Set(i, j, v.At(i, j)*math.Sqrt(e.values[j]-1))
		}
	}
	return &v
}

// leave puts L^T L + t v v^T in place of L^T L, v the columns of lacking, at the
// largest t of a halved sequence that lowers the rounded objective. L-BFGS on L
// cannot, for the gradient at a direction without weight is 0.
func (s *activeSet) leave(l, lacking *mat.Dense, from float64) error {
	const halvings = 40
	h, d := l.Dims()
	now := s.value(transform(s.x, l), nil, nil).total
	for range halvings {
		var more mat.Dense
		more.Scale(math.Sqrt(from), lacking.T())
		var joined mat.Dense
		joined.Stack(l, &more)
		if s.value(transform(s.x, &joined), nil, nil).total < now {
			whole, err := factorOf(gram(&joined))
			if err != nil {
				return err
			}
			l.Copy(whole.Slice(0, min(h, d), 0, d))
			return nil
		}
		from /= 2
	}
	return nil
}
