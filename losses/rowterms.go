package losses

import "fmt"

// RowTerm is a term on the embeddings themselves, as they are before any
// normalization: what a matrix of metric values cannot say, such as their
// lengths.
type RowTerm interface {
	// EvalRows returns the term of x, (rows, dim) row-major, and overwrites grad,
	// of the same layout, with its derivative.
	EvalRows(x []float64, rows, dim int, grad []float64) (float64, error)
}

// SEC is the spherical embedding constraint (Zhang et al. 2020, Eq. 8; chapter
// 16.2.6), which asks all embeddings of a batch for the same length, and a
// penalty on the length itself:
//
//	Weight * mean over rows of (|x| - mu)^2 + L2 * mean over rows of |x|^2
//
// mu is a constant for the gradient: the batch's mean length, or with a Momentum
// below 1 the average mu <- (1-Momentum)*mu + Momentum*batch mean, which starts
// with the first batch's mean. Momentum 0 means 1.
//
// The zero value has Weight 1, L2 0 and Momentum 1.
type SEC struct {
	Weight, L2 float64
	Momentum   float64

	asSet bool // the fields count even where all are zero

	mean [1]float64 // 0 before the first batch
}

// Parameters returns the average length, a statistic.
func (s *SEC) Parameters() []Param {
	return []Param{{Name: "norm_mean", Shape: []int{1}, Value: s.mean[:]}}
}

func (s *SEC) fields(f *fields) {
	f.flag(s.asSet)
	f.notNegative("Weight", s.Weight)
	f.notNegative("L2", s.L2)
	f.in("Momentum", s.Momentum, interval{low: 0, high: 1})
}

// EvalRows implements RowTerm.
func (s *SEC) EvalRows(x []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("sec", x, rows, dim, grad); err != nil {
		return 0, err
	}
	own, err := settle("sec", s, false, func() (*SEC, error) { return paperTerm[*SEC]("sec") })
	if err != nil {
		return 0, err
	}
	batch := 0.0
	for i := range rows {
		batch += norm(x[i*dim:(i+1)*dim]) / float64(rows)
	}
	if s.mean[0] == 0 || own.Momentum == 0 {
		s.mean[0] = batch
	} else {
		s.mean[0] += own.Momentum * (batch - s.mean[0])
	}
	value := 0.0
	for i := range rows {
		row := x[i*dim : (i+1)*dim]
		length := norm(row)
		off := length - s.mean[0]
		value += own.Weight*off*off + own.L2*length*length
		pull := 2 * own.L2
		if length > 0 {
			pull += 2 * own.Weight * off / length
		}
		for k, v := range row {
			grad[i*dim+k] = pull * v / float64(rows)
		}
	}
	value /= float64(rows)
	return value, checkValue("sec", value)
}

// ZeroMean draws the mean embedding of the batch to the origin: Weight times the
// squared length of the mean of the rows.
//
// The zero value has Weight 1.
type ZeroMean struct {
	Weight float64

	asSet bool // the field counts even where it is zero
}

func (z ZeroMean) fields(f *fields) {
	f.flag(z.asSet)
	f.notNegative("Weight", z.Weight)
}

// EvalRows implements RowTerm.
func (z ZeroMean) EvalRows(x []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("zero-mean", x, rows, dim, grad); err != nil {
		return 0, err
	}
	z, err := settle("zero-mean", z, false, func() (ZeroMean, error) { return paperTerm[ZeroMean]("zero-mean") })
	if err != nil {
		return 0, err
	}
	mean := make([]float64, dim)
	for k, v := range x {
		mean[k%dim] += v / float64(rows)
	}
	value := 0.0
	for _, v := range mean {
		value += z.Weight * v * v
	}
	for k := range grad {
		grad[k] = 2 * z.Weight * mean[k%dim] / float64(rows)
	}
	return value, checkValue("zero-mean", value)
}

// Orthogonality keeps the rows of a projection W, (rows, dim), of length 1 and
// at right angles (BRM Sect. 3.1 asks it of the linear embedding): Weight times
// the mean square of the entries of W W^T - I. It is of a parameter, not of
// embeddings. More rows than dimensions cannot be orthogonal: then it is
// columns, with W^T W - I.
//
// The zero value has Weight 1.
type Orthogonality struct {
	Weight float64

	asSet bool // the field counts even where it is zero
}

func (o Orthogonality) fields(f *fields) {
	f.flag(o.asSet)
	f.notNegative("Weight", o.Weight)
}

// EvalRows implements RowTerm.
func (o Orthogonality) EvalRows(w []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("orthogonality", w, rows, dim, grad); err != nil {
		return 0, err
	}
	o, err := settle("orthogonality", o, false, func() (Orthogonality, error) { return paperTerm[Orthogonality]("orthogonality") })
	if err != nil {
		return 0, err
	}
	n, inner, at := rows, dim, func(i, k int) int { return i*dim + k }
	if rows > dim {
		n, inner, at = dim, rows, func(i, k int) int { return k*dim + i }
	}
	zero(grad)
	weight := o.Weight / float64(n*n)
	value := 0.0
	for i := range n {
		for j := range i + 1 {
			e := 0.0
			for k := range inner {
				e += w[at(i, k)] * w[at(j, k)]
			}
			times := 2.0 // (i,j) and (j,i)
			if i == j {
				e--
				times = 1
			}
			value += times * weight * e * e
			for k := range inner {
				grad[at(i, k)] += 2 * times * weight * e * w[at(j, k)]
				grad[at(j, k)] += 2 * times * weight * e * w[at(i, k)]
			}
		}
	}
	return value, checkValue("orthogonality", value)
}

func checkRows(term string, x []float64, rows, dim int, grad []float64) error {
	switch {
	case rows < 1 || dim < 1:
		return fmt.Errorf("losses: %s: %d rows of %d dimensions: at least one of each is needed", term, rows, dim)
	case rows > len(x) || dim > len(x) || len(x) != rows*dim:
		return fmt.Errorf("losses: %s: %d values for %d rows of %d", term, len(x), rows, dim)
	case len(grad) != len(x):
		return fmt.Errorf("losses: %s: gradient has %d values, the rows %d", term, len(grad), len(x))
	}
	for k, v := range x {
		if v-v != 0 {
			return fmt.Errorf("losses: %s: row %d, dimension %d: %v is %w", term, k/dim, k%dim, v, ErrNotFinite)
		}
	}
	return nil
}
