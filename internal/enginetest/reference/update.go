package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// SumSquares returns the sum of squares over all of xs.
func (Engine) SumSquares(xs []engine.Tensor) (float64, error) {
	c, sum := call{op: "sum of squares"}, 0.0
	for _, x := range xs {
		for _, v := range c.any("x", x).v {
			sum += float64(v) * float64(v)
		}
	}
	return sum, c.err
}

// Clamp limits every element to [-limit, limit].
func (Engine) Clamp(xs []engine.Tensor, limit float32) error {
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

// element is one number of a parameter, its gradient and its states. A rule of an
// optimizer changes it.
type element struct {
	w, g, first, second float64
	rate, decay         float64
}

// update applies a rule to every number of every slot, each with states states.
// Numbers are float64 within a rule and rounded once. All slots are checked before
// any is changed.
func (c *call) update(slots []engine.Slot, states int, rule func(*element)) error {
	type checked struct{ w, g, first, second array }
	all := make([]checked, len(slots))
	for k, s := range slots {
		o := &all[k]
		o.w, o.g = c.any("parameter", s.Param), c.any("gradient", s.Grad)
		c.same(o.w, o.g)
		for j, state := range []*array{&o.first, &o.second}[:states] {
			if c.err == nil {
				*state = c.of([]string{"first state", "second state"}[j], s.State[j], o.w.shape...)
			}
		}
	}
	if c.err != nil {
		return c.err
	}
	for k, s := range slots {
		o := &all[k]
		for i := range o.w.v {
			e := element{w: float64(o.w.v[i]), g: float64(o.g.v[i]), rate: float64(s.Rate), decay: float64(s.Decay)}
			if states > 0 {
				e.first = float64(o.first.v[i])
			}
			if states > 1 {
				e.second = float64(o.second.v[i])
			}
			rule(&e)
			o.w.v[i] = float32(e.w)
			if states > 0 {
				o.first.v[i] = float32(e.first)
			}
			if states > 1 {
				o.second.v[i] = float32(e.second)
			}
		}
	}
	return nil
}

// SGD updates every slot.
func (Engine) SGD(slots []engine.Slot, spec engine.SGDSpec) error {
	c := call{op: "sgd"}
	states, momentum := 1, float64(spec.Momentum)
	if momentum == 0 {
		states = 0
	}
	return c.update(slots, states, func(e *element) {
		g := e.g + e.decay*e.w
		step := g
		if momentum != 0 {
			e.first = momentum*e.first + g
			step = e.first
			if spec.Nesterov {
				step = g + momentum*e.first
			}
		}
		e.w -= e.rate * step
	})
}

// AdamW updates every slot.
func (Engine) AdamW(slots []engine.Slot, spec engine.AdamWSpec) error {
	c := call{op: "adamw"}
	c.check(spec.Step >= 1, "step is %d, the first is 1", spec.Step)
	correct1 := 1 - math.Pow(spec.Beta1, float64(spec.Step))
	correct2 := 1 - math.Pow(spec.Beta2, float64(spec.Step))
	return c.update(slots, 2, func(e *element) {
		g, shrink := e.g, e.rate*e.decay*e.w
		if spec.Coupled {
			g, shrink = g+e.decay*e.w, 0
		}
		e.first = spec.Beta1*e.first + (1-spec.Beta1)*g
		e.second = spec.Beta2*e.second + (1-spec.Beta2)*g*g
		e.w = e.w - shrink - e.rate*(e.first/correct1)/(math.Sqrt(e.second/correct2)+spec.Eps)
	})
}

// RMSprop updates every slot.
func (Engine) RMSprop(slots []engine.Slot, spec engine.RMSpropSpec) error {
	c := call{op: "rmsprop"}
	states, momentum := 2, float64(spec.Momentum)
	if momentum == 0 {
		states = 1
	}
	return c.update(slots, states, func(e *element) {
		g := e.g + e.decay*e.w
		e.first = spec.Alpha*e.first + (1-spec.Alpha)*g*g
		step := g / (math.Sqrt(e.first) + spec.Eps)
		if momentum != 0 {
			step += momentum * e.second
			e.second = step
		}
		e.w -= e.rate * step
	})
}
