package cpu

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// SumSquares returns the sum of squares over all of xs.
func (e *Engine) SumSquares(xs []engine.Tensor) (float64, error) {
	g := args{op: "sum of squares"}
	total := 0.0
	var parts []float64
	for i, x := range xs {
		s := g.source(fmt.Sprintf("x[%d]", i), x, -1)
		if g.err != nil {
			return 0, g.err
		}
		n := ceilDiv(len(s.v), chunk)
		if cap(parts) < n {
			parts = make([]float64, n)
		}
		parts = parts[:n]
		e.pool.spans(len(s.v), func(from, to int) {
			parts[from/chunk] = e.kernels.spread(s.v[from:to], 0)
		})
		for _, p := range parts {
			total += p
		}
	}
	return total, nil
}

// Clamp limits every element to [-limit, limit]; NaN stays NaN.
func (e *Engine) Clamp(xs []engine.Tensor, limit float32) error {
	g := args{op: "clamp"}
	if !(limit >= 0) {
		g.fail("limit %v, want 0 or more", limit)
	}
	for i, x := range xs {
		s := g.get(fmt.Sprintf("x[%d]", i), x, -1)
		if g.err != nil {
			return g.err
		}
		e.pool.spans(len(s.v), func(from, to int) {
			for j, v := range s.v[from:to] {
				if v > limit {
					s.v[from+j] = limit
				} else if v < -limit {
					s.v[from+j] = -limit
				}
			}
		})
	}
	return g.err
}

// slot checks slot i, which has the given number of state tensors.
func (g *args) slot(i int, s engine.Slot, states int) (w, d view, state [2]view) {
	w, d = g.get(fmt.Sprintf("parameter %d", i), s.Param, -1), g.get(fmt.Sprintf("gradient %d", i), s.Grad, -1)
	g.same(d, w)
	for j := range states {
		state[j] = g.get(fmt.Sprintf("state %d of slot %d", j, i), s.State[j], -1)
		g.same(state[j], w)
	}
	return w, d, state
}

// slots checks all slots before any is changed.
func (g *args) slots(in []engine.Slot, states int) {
	for i, s := range in {
		if g.slot(i, s, states); g.err != nil {
			return
		}
	}
}

// SGD updates every slot in place.
func (e *Engine) SGD(slots []engine.Slot, spec engine.SGDSpec) error {
	g := args{op: "sgd"}
	states := 0
	if spec.Momentum != 0 {
		states = 1
	}
	if g.slots(slots, states); g.err != nil {
		return g.err
	}
	for i, s := range slots {
		w, d, state := g.slot(i, s, states)
		step := sgdStep{rate: s.Rate, decay: s.Decay, momentum: spec.Momentum, nesterov: spec.Nesterov}
		e.pool.spans(len(w.v), func(from, to int) {
			var v []float32
			if states > 0 {
				v = state[0].v[from:to]
			}
			e.kernels.sgd(w.v[from:to], d.v[from:to], v, step)
		})
	}
	return nil
}

// AdamW updates every slot in place.
func (e *Engine) AdamW(slots []engine.Slot, spec engine.AdamWSpec) error {
	g := args{op: "adamw"}
	if spec.Step < 1 {
		g.fail("step %d, want 1 or more", spec.Step)
	}
	if g.slots(slots, 2); g.err != nil {
		return g.err
	}
	unbias1 := 1 / (1 - math.Pow(spec.Beta1, float64(spec.Step)))
	unbias2 := 1 / (1 - math.Pow(spec.Beta2, float64(spec.Step)))
	for i, s := range slots {
		w, d, state := g.slot(i, s, 2)
		keep, l2 := float32(1-float64(s.Rate)*float64(s.Decay)), float32(0)
		if spec.Coupled {
			keep, l2 = 1, s.Decay
		}
		step := adamWStep{
			keep:  keep,
			beta1: float32(spec.Beta1), gain1: float32(1 - spec.Beta1),
			beta2: float32(spec.Beta2), gain2: float32(1 - spec.Beta2),
			rate: float32(float64(s.Rate) * unbias1), unbias2: float32(unbias2), eps: float32(spec.Eps),
		}
		e.pool.spans(len(w.v), func(from, to int) {
			if l2 == 0 {
				e.kernels.adamW(w.v[from:to], d.v[from:to], state[0].v[from:to], state[1].v[from:to], step)
				return
			}
			var sum [updateBlock]float32
			for ; from < to; from += updateBlock {
				end := min(from+updateBlock, to)
				g := sum[:end-from]
				for j, p := range w.v[from:end] {
					g[j] = d.v[from+j] + l2*p
				}
				e.kernels.adamW(w.v[from:end], g, state[0].v[from:end], state[1].v[from:end], step)
			}
		})
	}
	return nil
}

// updateBlock is how many gradients with their penalty are held at once.
const updateBlock = 512

// RMSprop updates every slot in place.
func (e *Engine) RMSprop(slots []engine.Slot, spec engine.RMSpropSpec) error {
	g := args{op: "rmsprop"}
	states := 1
	if spec.Momentum != 0 {
		states = 2
	}
	if g.slots(slots, states); g.err != nil {
		return g.err
	}
	for i, s := range slots {
		w, d, state := g.slot(i, s, states)
		step := rmsPropStep{
			rate: s.Rate, decay: s.Decay, alpha: float32(spec.Alpha), gain: float32(1 - spec.Alpha), eps: float32(spec.Eps), momentum: spec.Momentum,
		}
		e.pool.spans(len(w.v), func(from, to int) {
			var b []float32
			if states > 1 {
				b = state[1].v[from:to]
			}
			rmsProp(w.v[from:to], d.v[from:to], state[0].v[from:to], b, step)
		})
	}
	return nil
}

// rmsPropStep are the numbers of layers.RMSpropSpec for one slot.
type rmsPropStep struct {
	rate, decay, alpha, gain, eps, momentum float32
}

// rmsProp has no kernel of its own: a step of it is a small part of a step of
// training. b is nil without momentum.
func rmsProp(w, g, v, b []float32, s rmsPropStep) {
	g, v = g[:len(w)], v[:len(w)]
	for i, p := range w {
		d := g[i] + s.decay*p
		m := s.alpha*v[i] + s.gain*(d*d)
		v[i] = m
		d /= float32(math.Sqrt(float64(m))) + s.eps
		if b != nil {
			d += s.momentum * b[i]
			b[i] = d
		}
		w[i] = p - s.rate*d
	}
}
