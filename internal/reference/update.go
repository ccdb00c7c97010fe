package reference

import (
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// SumSquares returns the sum of squares over all of xs.
func (Engine) SumSquares(xs []layers.Tensor) (float64, error) {
	c, sum := call{op: "sum of squares"}, 0.0
	for _, x := range xs {
		for _, v := range c.any("x", x).v {
			sum += float64(v) * float64(v)
		}
	}
	return sum, c.err
}

// Clamp limits every element to [-limit, limit].
func (Engine) Clamp(xs []layers.Tensor, limit float32) error {
	c := call{op: "clamp"}
	c.check(limit >= 0, "limit is %v, want 0 or more", limit)
	for _, x := range xs {
		c.any("x", x)
	}
	if c.err != nil {
		return c.err
	}
	for _, x := range xs {
		a := c.any("x", x)
		for i, v := range a.v {
			a.v[i] = max(-limit, min(limit, v)) // NaN stays NaN
		}
	}
	return nil
}

// slot is a checked layers.Slot.
type slot struct {
	w, g, first, second array
	rate, decay         float64
}

// slots checks all slots before any is changed.
func (c *call) slots(in []layers.Slot, states int) []slot {
	var out []slot
	for _, s := range in {
		w, g := c.any("parameter", s.Param), c.any("gradient", s.Grad)
		c.same(w, g)
		o := slot{w: w, g: g, rate: float64(s.Rate), decay: float64(s.Decay)}
		if states > 0 && c.err == nil {
			o.first = c.of("first state", s.State[0], w.shape...)
		}
		if states > 1 && c.err == nil {
			o.second = c.of("second state", s.State[1], w.shape...)
		}
		out = append(out, o)
	}
	return out
}

// SGD updates every slot.
func (Engine) SGD(slots []layers.Slot, spec layers.SGDSpec) error {
	c := call{op: "sgd"}
	states := 1
	if spec.Momentum == 0 {
		states = 0
	}
	checked := c.slots(slots, states)
	if c.err != nil {
		return c.err
	}
	for _, s := range checked {
		for i := range s.w.v {
			w := float64(s.w.v[i])
			g := float64(s.g.v[i]) + s.decay*w
			step := g
			if spec.Momentum != 0 {
				v := float64(spec.Momentum)*float64(s.first.v[i]) + g
				s.first.v[i] = float32(v)
				step = v
				if spec.Nesterov {
					step = g + float64(spec.Momentum)*v
				}
			}
			s.w.v[i] = float32(w - s.rate*step)
		}
	}
	return nil
}

// AdamW updates every slot.
func (Engine) AdamW(slots []layers.Slot, spec layers.AdamWSpec) error {
	c := call{op: "adamw"}
	checked := c.slots(slots, 2)
	c.check(spec.Step >= 1, "step is %d, the first is 1", spec.Step)
	if c.err != nil {
		return c.err
	}
	correct1 := 1 - math.Pow(spec.Beta1, float64(spec.Step))
	correct2 := 1 - math.Pow(spec.Beta2, float64(spec.Step))
	for _, s := range checked {
		for i := range s.w.v {
			w, g := float64(s.w.v[i]), float64(s.g.v[i])
			shrink := s.rate * s.decay * w
			if spec.Coupled {
				g, shrink = g+s.decay*w, 0
			}
			m := spec.Beta1*float64(s.first.v[i]) + (1-spec.Beta1)*g
			v := spec.Beta2*float64(s.second.v[i]) + (1-spec.Beta2)*g*g
			s.first.v[i], s.second.v[i] = float32(m), float32(v)
			s.w.v[i] = float32(w - shrink - s.rate*(m/correct1)/(math.Sqrt(v/correct2)+spec.Eps))
		}
	}
	return nil
}

// RMSprop updates every slot.
func (Engine) RMSprop(slots []layers.Slot, spec layers.RMSpropSpec) error {
	c := call{op: "rmsprop"}
	states := 2
	if spec.Momentum == 0 {
		states = 1
	}
	checked := c.slots(slots, states)
	if c.err != nil {
		return c.err
	}
	for _, s := range checked {
		for i := range s.w.v {
			w := float64(s.w.v[i])
			g := float64(s.g.v[i]) + s.decay*w
			v := spec.Alpha*float64(s.first.v[i]) + (1-spec.Alpha)*g*g
			s.first.v[i] = float32(v)
			step := g / (math.Sqrt(v) + spec.Eps)
			if spec.Momentum != 0 {
				step += float64(spec.Momentum) * float64(s.second.v[i])
				s.second.v[i] = float32(step)
			}
			s.w.v[i] = float32(w - s.rate*step)
		}
	}
	return nil
}
