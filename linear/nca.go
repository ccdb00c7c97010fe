package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/linear/internal/lbfgs"
)

// NCA is neighborhood components analysis (Goldberger et al. 2005): it
// maximizes the expected number of rows that a stochastic nearest neighbor
// classifies rightly, sum_i p_i with p_i the softmax mass of
// -|L (x_i - x_j)|^2 over j != i that falls on the class of i. Rows, not pairs,
// take memory: O(n d) and a block of distances.
type NCA struct {
	// Dim is the number of rows of L; 0 means d.
	Dim int
	// Init is L at the start; nil means the identity for Dim = d, else the
	// leading directions of GEigen at unit length.
	Init *mat.Dense
	// MaxIterations bounds L-BFGS; 0 means 100.
	MaxIterations int
	// Restarts is how often it descends once more, each time from the best L at half its
	// scale, where the softmax is softer: a way out of local maxima.
	Restarts int
	// MaxRows is the largest number of rows learned from, drawn at random; 0 takes all.
	// The time of an iteration grows with their square.
	MaxRows int
	Seed    uint64
	Engine  Engine
}

// Name returns "nca".
func (NCA) Name() string { return "nca" }

// Fit needs labels of at least two classes.
func (a NCA) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(a.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		var notes []string
		if n := len(labels); a.MaxRows > 0 && n > a.MaxRows {
			x, labels = drawRows(x, labels, a.MaxRows, a.Seed)
			notes = append(notes, fmt.Sprintf("learned from %d of %d rows", a.MaxRows, n))
		}
		l, err := startFactor(a.Init, a.Dim, x, labels)
		if err != nil {
			return nil, err
		}
		f := newNCAObjective(ctx, a.Engine, x, labels)
		steps := a.MaxIterations
		if steps == 0 {
			steps = 100
		}
		if a.Init == nil {
			if err := f.leaveFlat(l); err != nil {
				return nil, err
			}
		}
		r, err := a.climb(ctx, f, l, steps)
		if err != nil {
			return nil, err
		}
		r.Notes = notes
		return r, nil
	})
}

// leaveFlat scales a start at which the objective does not depend on L, for the
// rows lie so far apart that each has one neighbor, or so near that all count
// alike: then the median distance to the nearest row becomes 1.
func (f *ncaObjective) leaveFlat(l *mat.Dense) error {
	h, d := l.Dims()
	g := mat.NewDense(h, d, nil)
	if v := f.value(l, g); f.err != nil || lbfgs.Slope(l.RawMatrix().Data, g.RawMatrix().Data, v) > lbfgs.LevelSlope {
		return f.err
	}
	z := transform(f.x, l)
	n, _ := z.Dims()
	near := make([]float64, n)
	err := squaredBlocks(f.ctx, f.eng, z, z, func(from, rows int, d2 []float64) error {
		for r := range rows {
			i := from + r
			near[i] = math.Inf(1)
			for j, v := range d2[r*n : (r+1)*n] {
				if j != i {
					near[i] = min(near[i], v)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if typical := quantile(near, .5); typical > 0 {
		l.Scale(1/math.Sqrt(typical), l)
	}
	return nil
}

// climb maximizes from l, and again from half of the best.
func (a NCA) climb(ctx context.Context, f *ncaObjective, l *mat.Dense, steps int) (*Result, error) {
	h, d := l.Dims()
	r := &Result{Metric: euclideanMetric, ObjectiveEnd: math.Inf(-1)}
	for round := range a.Restarts + 1 {
		out, err := lbfgs.Minimize(ctx, l.RawMatrix().Data, func(v, grad []float64) float64 {
			g := mat.NewDense(h, d, grad)
			s := f.value(mat.NewDense(h, d, v), g)
			g.Scale(-1, g)
			return -s
		}, lbfgs.Limits{Iterations: steps, Change: 1e-7, Gradient: 1e-7})
		if f.err != nil {
			return nil, f.err
		}
		if err != nil {
			return nil, err
		}
		if round == 0 {
			r.ObjectiveStart = -out.Start
		}
		r.Iterations += out.Iterations
		if -out.End > r.ObjectiveEnd {
			r.L, r.ObjectiveEnd, r.Converged = mat.DenseCopyOf(l), -out.End, out.Converged
		}
		l.Scale(.5, r.L)
	}
	return r, nil
}

// ncaObjective computes sum_i p_i and its gradient.
type ncaObjective struct {
	ctx    context.Context
	eng    Engine
	x      *mat.Dense
	labels []int
	a, b   *mat.Dense // rows sum_j w_ij x_j and sum_j w_ij z_j
	column [][]float64
	err    error
}

func newNCAObjective(ctx context.Context, eng Engine, x *mat.Dense, labels []int) *ncaObjective {
	n, d := x.Dims()
	f := &ncaObjective{ctx: ctx, eng: eng, x: x, labels: labels, a: mat.NewDense(n, d, nil), column: make([][]float64, parts)}
	for i := range f.column {
		f.column[i] = make([]float64, n)
	}
	return f
}

// negligible is where a softmax term counts as 0, relative to the largest.
const negligible = 32

// value sets g to the gradient. With w_ij = p_ij ([same class] - p_i), whose
// rows sum to 0, the gradient is -2 sum_ij w_ij (z_i - z_j)(x_i - x_j)^T =
// 2 sum_i (z_i a_i^T + b_i x_i^T) - 2 sum_j c_j z_j x_j^T, c the column sums.
func (f *ncaObjective) value(l, g *mat.Dense) float64 {
	n, d := f.x.Dims()
	h, _ := l.Dims()
	z := transform(f.x, l)
	f.b = mat.NewDense(n, h, nil)
	for _, c := range f.column {
		clear(c)
	}
	sums := make([]float64, parts)
	err := squaredBlocks(f.ctx, f.eng, z, z, func(from, rows int, d2 []float64) error {
		inParts(rows, func(part, lo, hi int) {
			for i := lo; i < hi; i++ {
				sums[part] += f.row(part, from+i, d2[i*n:(i+1)*n], z)
			}
		})
		return nil
	})
	if err != nil {
		f.err = err
		return math.NaN()
	}
	for _, c := range f.column[1:] {
		floats.Add(f.column[0], c)
	}
	scaled := mat.NewDense(n, h, nil)
	for j, c := range f.column[0] {
		floats.AddScaled(scaled.RawRowView(j), -c, z.RawRowView(j))
	}
	scaled.Add(scaled, f.b)
	g.Mul(scaled.T(), f.x)
	var za mat.Dense
	za.Mul(z.T(), f.a)
	for i := range h {
		floats.Add(g.RawRowView(i)[:d], za.RawRowView(i))
	}
	g.Scale(2, g)
	return floats.Sum(sums)
}

// row returns p_i and keeps its sums over j.
func (f *ncaObjective) row(part, i int, d2 []float64, z *mat.Dense) float64 {
	d2[i] = math.Inf(1)
	low := d2[0]
	for _, v := range d2 {
		if v < low {
			low = v
		}
	}
	total, own := 0.0, 0.0
	for j, v := range d2 {
		e := v - low
		if e > negligible || j == i {
			d2[j] = 0
			continue
		}
		e = math.Exp(-e)
		d2[j] = e
		total += e
		if f.labels[j] == f.labels[i] {
			own += e
		}
	}
	p := own / total
	a, b := f.a.RawRowView(i), f.b.RawRowView(i)
	clear(a)
	clear(b)
	for j, e := range d2 {
		if e == 0 {
			continue
		}
		w := -p
		if f.labels[j] == f.labels[i] {
			w++
		}
		w *= e / total
		f.column[part][j] += w
		if math.Abs(w) < 1e-14 {
			continue
		}
		axpy(a, w, f.x.RawRowView(j))
		axpy(b, w, z.RawRowView(j))
	}
	return p
}

// axpy is y += w x for short rows.
func axpy(y []float64, w float64, x []float64) {
	x = x[:len(y)]
	for k := range y {
		y[k] += w * x[k]
	}
}

// drawRows draws n rows without repetition, in ascending order, keeping at
// least two rows of each class that has them.
func drawRows(x *mat.Dense, labels []int, n int, seed uint64) (*mat.Dense, []int) {
	rows := drawIndices(labels, n, seed)
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k] = labels[i]
	}
	return selectRows(x, rows), out
}

// startFactor is L at the start, (dim, d).
func startFactor(init *mat.Dense, dim int, x *mat.Dense, labels []int) (*mat.Dense, error) {
	_, d := x.Dims()
	switch {
	case init != nil:
		h, c := init.Dims()
		if c != d || dim != 0 && h != dim {
			return nil, fmt.Errorf("the start is (%d, %d), rows have %d columns and %d directions were asked for", h, c, d, dim)
		}
		return mat.DenseCopyOf(init), nil
	case dim == 0 || dim == d:
		return identity(d, d), nil
	case dim < 0 || dim > d:
		return nil, fmt.Errorf("%d directions asked for, rows have %d columns", dim, d)
	}
	return discriminants(x, labels, dim)
}

// discriminants are the dim directions of largest regularized Fisher ratio, at
// unit length.
func discriminants(x *mat.Dense, labels []int, dim int) (*mat.Dense, error) {
	r, err := GEigen{Dim: dim, Lambda: 1e-3}.Fit(context.Background(), &Problem{X: x, Labels: labels})
	if err != nil {
		return nil, err
	}
	h, _ := r.L.Dims()
	for i := range h {
		row := r.L.RawRowView(i)
		floats.Scale(1/floats.Norm(row, 2), row)
	}
	return r.L, nil
}
