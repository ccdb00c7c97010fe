package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// MMC is Mahalanobis metric learning for clustering (Xing et al. 2002): it
// maximizes the sum of distances over dissimilar pairs while the sum of squared
// distances over similar pairs is at most t, the hundredth part of its
// Euclidean value.
//
// The constraint only sets the scale of M, so the problem is to maximize
// sum_D d / sqrt(sum_S d^2), without constraint: L-BFGS on a square factor in
// the basis that whitens the similar pairs. M is scaled to the constraint
// afterwards. The problem is concave in M, so this is its maximum.
type MMC struct {
	// MaxIterations bounds L-BFGS; 0 means 1000.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "mmc".
func (MMC) Name() string { return "mmc" }

// Fit needs similar and dissimilar pairs, or labels. Directions in which similar
// pairs do not differ, where the maximum would be infinite, are left out.
func (m MMC) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		s := scatterOf(p.X, similar)
		t := mat.Trace(s) / 100
		w, err := whitening(s)
		if err != nil {
			return nil, err
		}
		if w == nil {
			return nil, fmt.Errorf("similar pairs do not differ in any column")
		}
		d, rank := w.Dims()
		l, out, err := m.maximize(ctx, transform(p.X, mat.DenseCopyOf(w.T())), dissimilar)
		if err != nil {
			return nil, err
		}
		// In the whitened basis sum_S d^2 is |L|_F^2.
		l.Scale(math.Sqrt(t)/mat.Norm(l, 2), l)
		var full mat.Dense
		full.Mul(l, w.T())
		r := &Result{L: &full, Metric: euclideanMetric, Iterations: out.Iterations, Converged: out.Converged,
			ObjectiveStart: math.Exp(-out.Start) * math.Sqrt(t), ObjectiveEnd: math.Exp(-out.End) * math.Sqrt(t)}
		noteRank(r, "scatter of similar pairs", rank, d)
		return r, nil
	})
}

// maximize minimizes log |L|_F - log sum_D |L (x_a - x_b)|.
func (m MMC) maximize(ctx context.Context, x *mat.Dense, dissimilar []Pair) (*mat.Dense, lbfgs.Outcome, error) {
	n, d := x.Dims()
	steps := m.MaxIterations
	if steps == 0 {
		steps = 1000
	}
	l := identity(d, d)
	dist := make([]float64, len(dissimilar))
	out, err := lbfgs.Minimize(ctx, l.RawMatrix().Data, func(v, grad []float64) float64 {
		l, g := mat.NewDense(d, d, v), mat.NewDense(d, d, grad)
		z := transform(x, l)
		sum := 0.0
		for k, v := range squaredPairs(dist, z, dissimilar) {
			dist[k] = math.Sqrt(v)
			sum += dist[k]
		}
		q := mat.NewDense(n, d, nil)
		laplacian(q, z, dissimilar, func(k int) float64 {
			if dist[k] == 0 {
				return 0
			}
			return -1 / (dist[k] * sum)
		})
		g.Mul(q.T(), x)
		norm := mat.Norm(l, 2)
		axpy(grad, 1/(norm*norm), v)
		return math.Log(norm) - math.Log(sum)
	}, lbfgs.Limits{Iterations: steps, Change: 1e-12, Gradient: 1e-9})
	return l, out, err
}

// DiagonalMMC is the diagonal form of Xing et al. (2002, section 2.1): weights
// w >= 0 of the columns that minimize
// sum_S sum_k w_k d_k^2 - C log(sum_D sqrt(sum_k w_k d_k^2)).
//
// The problem is convex. It is solved by projected Newton steps for
// u_k = w_k sum_S d_k^2, in which the scale of the columns does not occur.
type DiagonalMMC struct {
	// C weighs the dissimilar pairs and with them the scale of w; 0 means 1.
	C float64
	// MaxIterations bounds the Newton steps; 0 means 200.
	MaxIterations int
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "mmc-diag".
func (DiagonalMMC) Name() string { return "mmc-diag" }

// Fit needs similar and dissimilar pairs, or labels. A column in which similar
// pairs do not differ but dissimilar ones do would get infinite weight: it is an
// error that names it.
func (m DiagonalMMC) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		steps := m.MaxIterations
		if steps == 0 {
			steps = 200
		}
		if m.C == 0 {
			m.C = 1
		}
		if !(m.C > 0) {
			return nil, fmt.Errorf("c is %v, want a positive number", m.C)
		}
		f, err := newDiagonal(p.X, similar, dissimilar, m.C)
		if err != nil {
			return nil, err
		}
		r, u, err := f.minimize(ctx, steps)
		if err != nil {
			return nil, err
		}
		_, d := p.X.Dims()
		r.L = mat.NewDense(d, d, nil)
		for k, column := range f.columns {
			r.L.Set(column, column, math.Sqrt(u[k]/f.own[k]))
		}
		if !r.Converged {
			r.note("not converged after %d steps: raise max-iterations", r.Iterations)
		}
		return r, nil
	})
}

// diagonal is the objective sum_k u_k - C log(sum_D sqrt(q.u)) over u >= 0, with
// q_k the squared difference of a dissimilar pair in column k over the sum of those
// of similar pairs.
type diagonal struct {
	c       float64
	columns []int // in which pairs differ
	own     []float64
	q       *mat.Dense // (dissimilar pairs, columns)
}

func newDiagonal(x *mat.Dense, similar, dissimilar []Pair, c float64) (*diagonal, error) {
	f := &diagonal{c: c}
	own, other := columnSpread(x, similar), columnSpread(x, dissimilar)
	for k := range own {
		if own[k] == 0 && other[k] > 0 {
			return nil, fmt.Errorf("column %d does not differ within any similar pair, so its weight has no bound; leave it out", k)
		}
		if own[k] > 0 {
			f.columns, f.own = append(f.columns, k), append(f.own, own[k])
		}
	}
	differ := false
	rows := make([]float64, 0, len(dissimilar)*len(f.columns))
	for _, p := range dissimilar {
		a, b := x.RawRowView(p[0]), x.RawRowView(p[1])
		for k, column := range f.columns {
			e := a[column] - b[column]
			rows = append(rows, e*e/f.own[k])
			differ = differ || e != 0
		}
	}
	if !differ {
		return nil, fmt.Errorf("dissimilar pairs do not differ in any column")
	}
	f.q = mat.NewDense(len(dissimilar), len(f.columns), rows)
	return f, nil
}

// columnSpread is the sum over pairs of the squared difference of each column.
func columnSpread(x *mat.Dense, pairs []Pair) []float64 {
	_, d := x.Dims()
	s := make([]float64, d)
	for _, p := range pairs {
		a, b := x.RawRowView(p[0]), x.RawRowView(p[1])
		for k := range s {
			s[k] += (a[k] - b[k]) * (a[k] - b[k])
		}
	}
	return s
}

// value sets grad and, if not nil, hessian. It is +Inf where a pair that differs
// has distance 0: the slope is infinite there, so no minimum is.
func (f *diagonal) value(u, grad []float64, hessian *mat.SymDense) float64 {
	total, sum := 0.0, 0.0
	for k, v := range u {
		total += v
		grad[k] = 0
	}
	if hessian != nil {
		hessian.Zero()
	}
	n, _ := f.q.Dims()
	for i := range n {
		q := f.q.RawRowView(i)
		dist := floats.Dot(q, u)
		if dist <= 0 {
			if floats.Sum(q) > 0 {
				return math.Inf(1)
			}
			continue
		}
		dist = math.Sqrt(dist)
		sum += dist
		floats.AddScaled(grad, 1/(2*dist), q)
		if hessian != nil {
			hessian.SymRankOne(hessian, 1/(4*dist*dist*dist), mat.NewVecDense(len(q), q))
		}
	}
	floats.Scale(1/sum, grad)
	if hessian != nil {
		hessian.ScaleSym(f.c/sum, hessian)
		hessian.SymRankOne(hessian, f.c, mat.NewVecDense(len(grad), grad))
	}
	for k := range grad {
		grad[k] = 1 - f.c*grad[k]
	}
	return total - f.c*math.Log(sum)
}

// minimize takes Newton steps over the weights that are not held at 0 (Bertsekas
// 1982). For u scaled so that sum u = C/2, as at the minimum, the objective is at
// most C/2 times the steepest descent of any weight above the minimum.
func (f *diagonal) minimize(ctx context.Context, steps int) (*Result, []float64, error) {
	const settled = 1e-10
	d := len(f.columns)
	u, next := make([]float64, d), make([]float64, d)
	for k := range u {
		u[k] = 1
	}
	grad, gNext, hessian := make([]float64, d), make([]float64, d), mat.NewSymDense(d, nil)
	r := &Result{Metric: euclideanMetric, Minimized: true, ObjectiveStart: f.value(u, grad, nil)}
	floats.Scale(f.c/2/floats.Sum(u), u)
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		r.ObjectiveEnd = f.value(u, grad, hessian)
		r.Converged = f.residual(u, grad) <= settled
		if r.Converged || r.Iterations >= steps {
			return r, u, nil
		}
		r.Iterations++
		step, err := f.newton(u, grad, hessian)
		if err != nil {
			return nil, nil, err
		}
		if !f.search(u, next, grad, step, gNext, r.ObjectiveEnd) {
			// Rounding leaves no lower point.
			r.Converged = f.residual(u, grad) <= math.Sqrt(settled)
			return r, u, nil
		}
	}
}

// residual says how far u is from the conditions of the minimum, without a unit:
// by the largest descent of a weight, and by the ascent of weights that are not 0.
func (f *diagonal) residual(u, grad []float64) float64 {
	most := 0.0
	for k, g := range grad {
		most = max(most, -g, g*u[k]/f.c)
	}
	return most
}

// newton is the step; weights at 0 that are to stay there follow their gradient.
func (f *diagonal) newton(u, grad []float64, hessian *mat.SymDense) ([]float64, error) {
	const damping = 1e-12
	held := 1e-8 * f.c
	var free []int
	step := make([]float64, len(u))
	for k, g := range grad {
		if u[k] <= held && g > 0 {
			step[k] = -u[k]
		} else {
			free = append(free, k)
		}
	}
	if len(free) == 0 {
		return step, nil
	}
	h, b := mat.NewSymDense(len(free), nil), mat.NewVecDense(len(free), nil)
	for i, k := range free {
		b.SetVec(i, -grad[k])
		for j, l := range free[:i+1] {
			h.SetSym(i, j, hessian.At(k, l))
		}
	}
	for add := damping * mat.Trace(h); ; add *= 100 {
		addIdentity(h, add)
		var c mat.Cholesky
		if c.Factorize(h) {
			if err := c.SolveVecTo(b, b); err == nil || !math.IsInf(c.Cond(), 1) {
				break
			}
		}
		if math.IsInf(add, 0) || math.IsNaN(add) {
			return nil, fmt.Errorf("the curvature of the objective is not finite")
		}
	}
	for i, k := range free {
		step[k] = b.AtVec(i)
	}
	return step, nil
}

// search halves the step until the projected point is lower, and moves u there.
func (f *diagonal) search(u, next, grad, step, gNext []float64, now float64) bool {
	const armijo, halvings = 1e-4, 60
	t := 1.0
	for range halvings {
		gain := 0.0
		for k := range u {
			next[k] = max(u[k]+t*step[k], 0)
			gain += grad[k] * (next[k] - u[k])
		}
		if v := f.value(next, gNext, nil); gain < 0 && v <= now+armijo*gain && v < now {
			copy(u, next)
			return true
		}
		t /= 2
	}
	return false
}
