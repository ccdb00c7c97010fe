package linear

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// EquidistantClasses draws the data of BRM section 5.1: classes of perClass rows
// each in d columns, normal with one diagonal covariance, the distance of every
// two class centers being rho. The paper does not give the covariance: here each
// column's deviation is drawn uniformly between low and high. Centers are a
// regular simplex, turned at random.
func EquidistantClasses(classes, perClass, d int, rho, low, high float64, seed uint64) (*Problem, error) {
	if classes < 2 || perClass < 1 || d < classes {
		return nil, fmt.Errorf("%d equidistant classes of %d rows in %d columns: want 2 classes, a row, and as many columns as classes at least", classes, perClass, d)
	}
	rng := newRand(seed, 10)
	// Orthonormal directions times rho/sqrt 2 are rho apart.
	g := mat.NewDense(d, d, nil)
	for i := range g.RawMatrix().Data {
		g.RawMatrix().Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(g)
	var q mat.Dense
	qr.QTo(&q)
	deviation := make([]float64, d)
	for j := range deviation {
		deviation[j] = low + (high-low)*rng.Float64()
	}
	p := &Problem{X: mat.NewDense(classes*perClass, d, nil)}
	for i := range classes * perClass {
		c := i / perClass
		p.Labels = append(p.Labels, c)
		row := p.X.RawRowView(i)
		for j := range row {
			row[j] = q.At(j, c)*rho/math.Sqrt2 + deviation[j]*rng.NormFloat64()
		}
	}
	return p, nil
}

// TwoClassesInNoise draws the data of textbook section 63.5: two classes of
// perClass rows that differ in column 0 only (means -1.2 and 1.2, deviation
// 0.6), beside two columns of noise of deviation 10.
func TwoClassesInNoise(perClass int, seed uint64) *Problem {
	rng := newRand(seed, 11)
	p := &Problem{X: mat.NewDense(2*perClass, 3, nil)}
	for i := range 2 * perClass {
		c := i / perClass
		p.Labels = append(p.Labels, c)
		p.X.SetRow(i, []float64{1.2*float64(2*c-1) + .6*rng.NormFloat64(), 10 * rng.NormFloat64(), 10 * rng.NormFloat64()})
	}
	return p
}

// SplitRows divides a labeled problem as Split does.
func SplitRows(p *Problem, share float64, seed uint64) (train, test *Problem, err error) {
	a, b, err := Split(p.Labels, share, seed)
	if err != nil {
		return nil, nil, err
	}
	return &Problem{X: selectRows(p.X, a), Labels: pick(p.Labels, a)}, &Problem{X: selectRows(p.X, b), Labels: pick(p.Labels, b)}, nil
}
