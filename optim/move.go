package optim

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/finite"
)

// Move is a step that a device may still be at.
type Move struct {
	optimizer *Optimizer
	clipped   engine.Clipped // nil once the norm is known
	norm      float64
}

// Norm waits for the norm of the whole gradient before clipping. If it is not
// finite nothing has moved and the error is ErrNonFinite.
func (m *Move) Norm() (float64, error) {
	if m.clipped != nil {
		norm, err := m.clipped.Norm()
		if err != nil {
			return 0, err
		}
		m.clipped, m.norm = nil, norm
		if !finite.Is(norm) {
			m.optimizer.step-- // the device has left everything as it was
		}
	}
	if !finite.Is(m.norm) {
		return m.norm, ErrNonFinite
	}
	return m.norm, nil
}

// clip limits the gradient and returns what moves parameters along it; ok is false
// if the norm is not finite.
func (o *Optimizer) clip(m *Move) (by engine.Mover, ok bool, err error) {
	if c, async := o.eng.(engine.Clipper); async {
		m.clipped, err = c.Clip(o.grads, o.settings.ClipNorm, o.settings.ClipValue)
		return m.clipped, true, err
	}
	sum, err := o.eng.SumSquares(o.grads)
	if err != nil {
		return nil, false, err
	}
	if m.norm = math.Sqrt(sum); !finite.Is(m.norm) {
		return nil, false, nil
	}
	if c := o.settings.ClipNorm; c > 0 && m.norm > c {
		for _, g := range o.grads {
			if err := o.eng.Scale(g, g, float32(c/m.norm)); err != nil {
				return nil, false, err
			}
		}
	}
	if c := o.settings.ClipValue; c > 0 {
		err = o.eng.Clamp(o.grads, float32(c))
	}
	return o.eng, true, err
}
