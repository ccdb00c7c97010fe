package losses

import (
	"fmt"
	"math"
)

// CheckGradient compares the gradient of a loss on a matrix with central differences of
// its value, and returns an error that names the pair that disagrees most, or what is
// wrong otherwise. Values at which the loss has a kink, such as a pair right at its
// margin, disagree without a mistake: take another matrix.
func CheckGradient(l Loss, m *Matrix) error {
	const (
		step = 1e-5
		off  = 1e-5 // relative to the larger of both and 1
	)
	if err := m.checkSizes(); err != nil {
		return fmt.Errorf("losses: %w", err)
	}
	grad, scratch := make([]float64, len(m.V)), make([]float64, len(m.V))
	for k := range grad {
		grad[k] = math.NaN() // Eval overwrites it
	}
	if _, err := l.Eval(m, grad); err != nil {
		return err
	}
	moved := *m
	moved.V = append([]float64(nil), m.V...)
	worst, what := 0., ""
	for k, at := range m.V {
		moved.V[k] = at + step
		above, err := l.Eval(&moved, scratch)
		if err != nil {
			return err
		}
		moved.V[k] = at - step
		below, err := l.Eval(&moved, scratch)
		if err != nil {
			return err
		}
		moved.V[k] = at
		want := (above.Value - below.Value) / (2 * step)
		d := math.Abs(grad[k]-want) / max(1, math.Abs(grad[k]), math.Abs(want))
		if !(d <= worst) { // NaN too
			worst, what = d, fmt.Sprintf("losses: row %d, column %d: the gradient is %.6g, the difference quotient %.6g", k/m.Cols, k%m.Cols, grad[k], want)
		}
		if d != d {
			break
		}
	}
	if worst <= off {
		return nil
	}
	return fmt.Errorf("%s", what)
}
