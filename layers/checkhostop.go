package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Constants of CheckHostOp: the step of the difference quotients, and how far a
// gradient may be from them, relative to the larger of both and 1. Forward computes in
// float32, whose rounding at this step is below a tenth of it.
const (
	differenceStep = 1e-2
	differenceOff  = 1e-2
)

// CheckHostOp compares the gradient of an op with central differences of Forward, on
// inputs of the given shapes drawn by seed from a standard normal distribution. It
// returns an error that names the input and the number that disagree most, or what is
// wrong otherwise. Where an op has kinks, as a ReLU at 0, another seed may be needed.
func CheckHostOp(o HostOp, seed uint64, shapes ...[]int) error {
	shape, err := o.Shape(shapes...)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0x686f73746f70))
	draw := func(shape []int) Array {
		a := newArray(shape)
		for i := range a.V {
			a.V[i] = float32(r.NormFloat64())
		}
		return a
	}
	y, dy := newArray(shape), draw(shape)
	x, dx := make([]Array, len(shapes)), make([]Array, len(shapes))
	for i, s := range shapes {
		x[i], dx[i] = draw(s), newArray(s)
	}
	if err := o.Forward(y, x...); err != nil {
		return err
	}
	before := newArray(shape)
	copy(before.V, y.V)
	if err := o.Backward(dx, dy, before, x...); err != nil {
		return err
	}
	// value is the number whose derivative with respect to y is dy.
	value := func() (sum float64, err error) {
		if err := o.Forward(y, x...); err != nil {
			return 0, err
		}
		for i, v := range y.V {
			sum += float64(v) * float64(dy.V[i])
		}
		return sum, nil
	}
	worst, what := 0., ""
	for i := range x {
		for j, at := range x[i].V {
			x[i].V[j] = at + differenceStep
			above, err := value()
			if err != nil {
				return err
			}
			x[i].V[j] = at - differenceStep
			below, err := value()
			if err != nil {
				return err
			}
			x[i].V[j] = at
			want, got := (above-below)/(2*differenceStep), float64(dx[i].V[j])
			off := math.Abs(got-want) / max(1, math.Abs(got), math.Abs(want))
			if !(off <= worst) { // NaN too
				worst, what = off, fmt.Sprintf("input %d, number %d of shape %v: the gradient is %.5g, the difference quotient %.5g", i, j, x[i].Shape, got, want)
			}
			if off != off {
				return fmt.Errorf("layers: %s", what)
			}
		}
	}
	if worst > differenceOff {
		return fmt.Errorf("layers: %s", what)
	}
	return nil
}
