package probe

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/vernier-ml/vernier/eval"
)

// LinearOptions are the recipe of a linear probe. The zero value is the one that figures
// are reported of.
type LinearOptions struct {
	// C is the inverse strength of the penalty, as in scikit-learn: the sum of the rows'
	// cross-entropies times C, and half of the sum of squares of the weights. 0 means 1.
	C float64
	// Iterations bounds L-BFGS; 0 means 1,000.
	Iterations int
	// Progress, if set, is called with the iterations done.
	Progress func(done, total int)
}

// maxLinear is the largest number of weights, and of logits, of a linear probe: 1 GiB of
// float64 each.
const maxLinear = 1 << 27

// slope is the largest entry of the gradient, of the mean over rows, at which the fit ends.
const slope = 1e-6

// Linear is a multinomial logistic regression on standardized rows.
type Linear struct {
	// Labels of the classes, ascending, in the order of the columns of W.
	Labels []int
	// W holds weights (H+1, C): the last row is the offset, which is not penalized.
	W *mat.Dense
	// Mean and Scale (H each) of the bank: a coordinate enters as (x - Mean) * Scale. Scale
	// is 0 of a coordinate that never changes.
	Mean, Scale []float64
	// Loss is what was minimized, divided by C and the number of rows; Iterations were
	// taken. Converged is false where they ran out.
	Loss       float64
	Iterations int
	Converged  bool
}

// FitLinear fits a linear classifier to labeled rows: multinomial logistic regression with
// a penalty on squared weights, by L-BFGS, on coordinates of mean 0 and variance 1. The
// result is that of scikit-learn's StandardScaler and LogisticRegression.
func FitLinear(ctx context.Context, bank *eval.Embeddings, opt LinearOptions) (*Linear, error) {
	if err := bank.ValidateLabeled(); err != nil {
		return nil, fmt.Errorf("probe: the bank: %w", err)
	}
	if opt.C == 0 {
		opt.C = 1
	}
	if opt.Iterations == 0 {
		opt.Iterations = 1000
	}
	if !(opt.C > 0) || math.IsInf(opt.C, 1) || opt.Iterations < 0 {
		return nil, fmt.Errorf("probe: C is %v and the bound of iterations %d, want a positive number and a bound that is not negative", opt.C, opt.Iterations)
	}
	class, distinct := eval.Compact(bank.Labels)
	if len(distinct) < 2 {
		return nil, errors.New("probe: all rows of the bank are of one class: a classifier needs two")
	}
	if n := max(bank.N, bank.H+1); n > maxLinear/len(distinct) {
		return nil, fmt.Errorf("probe: %d classes of %d rows of %d numbers are too many for a linear classifier, whose logits and weights may be %d each", len(distinct), bank.N, bank.H, maxLinear)
	}
	l := &Linear{Labels: distinct}
	l.standardize(bank)
	f := newRegression(l.inputs(bank), class, len(distinct), 1/(opt.C*float64(bank.N)))
	result, err := optimize.Minimize(
		optimize.Problem{Func: f.value, Grad: f.gradient},
		make([]float64, (bank.H+1)*f.classes),
		&optimize.Settings{GradientThreshold: slope, MajorIterations: opt.Iterations, Recorder: &watch{ctx, opt}},
		&optimize.LBFGS{Store: 10},
	)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// A line search that can go no further ends at the best point that float64 tells from
	// its neighbors.
	if err != nil && (result == nil || !(floats.Norm(result.Gradient, math.Inf(1)) < 100*slope)) {
		return nil, fmt.Errorf("probe: the linear classifier: %w", err)
	}
	l.W = mat.NewDense(bank.H+1, f.classes, result.X)
	l.Loss, l.Iterations = result.F, result.MajorIterations
	l.Converged = floats.Norm(result.Gradient, math.Inf(1)) < 100*slope
	return l, nil
}

// watch reports progress, and ends a fit whose context has ended.
type watch struct {
	ctx context.Context
	opt LinearOptions
}

func (w *watch) Init() error { return w.ctx.Err() }

func (w *watch) Record(_ *optimize.Location, op optimize.Operation, s *optimize.Stats) error {
	if op == optimize.MajorIteration && w.opt.Progress != nil {
		w.opt.Progress(s.MajorIterations, w.opt.Iterations)
	}
	return w.ctx.Err()
}

// standardize finds mean and scale of every coordinate.
func (l *Linear) standardize(e *eval.Embeddings) {
	l.Mean, l.Scale = make([]float64, e.H), make([]float64, e.H)
	n := float64(e.N)
	for i := range e.N {
		for j, v := range e.Row(i) {
			l.Mean[j] += float64(v) / n
		}
	}
	for i := range e.N {
		for j, v := range e.Row(i) {
			d := float64(v) - l.Mean[j]
			l.Scale[j] += d * d / n
		}
	}
	for j, v := range l.Scale {
		// What rounding alone makes of a constant is no variance.
		if least := 1e-7 * math.Abs(l.Mean[j]); v <= least*least {
			l.Scale[j] = 0
			continue
		}
		l.Scale[j] = 1 / math.Sqrt(v)
	}
}

// inputs are standardized rows (N, H+1) with a 1 at the end of each.
func (l *Linear) inputs(e *eval.Embeddings) *mat.Dense {
	x := mat.NewDense(e.N, e.H+1, nil)
	for i := range e.N {
		to := x.RawRowView(i)
		for j, v := range e.Row(i) {
			to[j] = (float64(v) - l.Mean[j]) * l.Scale[j]
		}
		to[e.H] = 1
	}
	return x
}

// Probabilities returns those of every class (N, C) of every row, in the order of Labels.
func (l *Linear) Probabilities(e *eval.Embeddings) (*mat.Dense, error) {
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	if e.H != len(l.Mean) {
		return nil, fmt.Errorf("probe: rows of %d numbers for a classifier of rows of %d", e.H, len(l.Mean))
	}
	var p mat.Dense
	p.Mul(l.inputs(e), l.W)
	for i := range e.N {
		row := p.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
		for c := range row {
			row[c] = math.Exp(row[c])
		}
	}
	return &p, nil
}

// Classify returns the most probable label of every row.
func (l *Linear) Classify(e *eval.Embeddings) ([]int, error) {
	p, err := l.Probabilities(e)
	if err != nil {
		return nil, err
	}
	labels := make([]int, e.N)
	for i := range labels {
		labels[i] = l.Labels[floats.MaxIdx(p.RawRowView(i))]
	}
	return labels, nil
}

// regression is the objective of a fit: the mean of the rows' cross-entropies and half of
// penalty times the sum of squares of the weights without the offsets. Weights are laid
// out as Linear.W.
type regression struct {
	x       *mat.Dense // (N, H+1)
	class   []int
	classes int
	penalty float64
	logits  *mat.Dense // (N, C), scratch
}

func newRegression(x *mat.Dense, class []int, classes int, penalty float64) *regression {
	n, _ := x.Dims()
	return &regression{x, class, classes, penalty, mat.NewDense(n, classes, nil)}
}

// value leaves the logarithms of probabilities in logits.
func (f *regression) value(w []float64) float64 {
	n, h1 := f.x.Dims()
	f.logits.Mul(f.x, mat.NewDense(h1, f.classes, w))
	sum := 0.
	for i := range n {
		row := f.logits.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
		sum -= row[f.class[i]]
	}
	free := w[:(h1-1)*f.classes]
	return sum/float64(n) + f.penalty/2*floats.Dot(free, free)
}

func (f *regression) gradient(grad, w []float64) {
	f.value(w)
	n, h1 := f.x.Dims()
	for i := range n {
		row := f.logits.RawRowView(i)
		for c, v := range row {
			row[c] = math.Exp(v) / float64(n)
		}
		row[f.class[i]] -= 1 / float64(n)
	}
	mat.NewDense(h1, f.classes, grad).Mul(f.x.T(), f.logits)
	free := (h1 - 1) * f.classes
	floats.AddScaled(grad[:free], f.penalty, w[:free])
}
