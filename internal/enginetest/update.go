package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// parameterShapes are those of a few parameters updated at once.
var parameterShapes = [][]int{{1}, {70}, {5, 33}, {16, 3, 3, 3}, {2, 64, 1, 1}, {1025}}

func (s *suite) update(t *testing.T) {
	rng := s.rng(t)
	s.sumSquares(t, rng)
	var xs []array
	for _, shape := range parameterShapes {
		xs = append(xs, normal(rng, shape...))
	}
	for _, limit := range []float32{0, 0.5, 100} {
		s.compare(t, call{what: fmt.Sprintf("clamp to %v", limit), out: xs,
			f: func(e engine.Engine, out, _ []engine.Tensor) error { return e.Clamp(out, limit) }})
	}
	for _, spec := range []engine.SGDSpec{{}, {Momentum: 0.9}, {Momentum: 0.9, Nesterov: true}} {
		s.compareUpdate(t, rng, fmt.Sprintf("SGD %+v", spec), func(e engine.Engine, slots []engine.Slot) error {
			if spec.Momentum == 0 {
				for i := range slots {
					slots[i].State[0] = nil
				}
			}
			return e.SGD(slots, spec)
		})
	}
	for _, step := range []int{1, 2, 10, -10, 1000, 1000000} { // below 0 with the penalty in the gradient
		spec := engine.AdamWSpec{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: max(step, -step), Coupled: step < 0}
		s.compareUpdate(t, rng, fmt.Sprintf("AdamW %+v", spec), func(e engine.Engine, slots []engine.Slot) error {
			return e.AdamW(slots, spec)
		})
	}
	for _, momentum := range []float32{0, 0.9} {
		spec := engine.RMSpropSpec{Alpha: 0.99, Eps: 1e-8, Momentum: momentum}
		s.compareUpdate(t, rng, fmt.Sprintf("RMSprop %+v", spec), func(e engine.Engine, slots []engine.Slot) error {
			for i := range slots {
				slots[i].State[0], slots[i].State[1] = slots[i].State[1], slots[i].State[0] // squares are positive
				if momentum == 0 {
					slots[i].State[1] = nil
				}
			}
			return e.RMSprop(slots, spec)
		})
	}
}

// compareUpdate gives every slot its own rate and decay. Outputs are parameter,
// first and second state of each slot, in this order.
func (s *suite) compareUpdate(t *testing.T, rng *rand.Rand, what string, f func(e engine.Engine, slots []engine.Slot) error) {
	t.Helper()
	c := call{what: what, rel: s.opt.Elementwise, unit: 1}
	var rates, decays []float32
	for i, shape := range parameterShapes {
		c.out = append(c.out, normal(rng, shape...), normal(rng, shape...), positive(rng, shape...))
		c.in = append(c.in, normal(rng, shape...))
		rates = append(rates, float32(i)*0.01)
		decays = append(decays, float32(i%3)*0.1)
	}
	c.f = func(e engine.Engine, out, in []engine.Tensor) error {
		var slots []engine.Slot
		for i, g := range in {
			slots = append(slots, engine.Slot{Param: out[3*i], Grad: g, State: [2]engine.Tensor{out[3*i+1], out[3*i+2]}, Rate: rates[i], Decay: decays[i]})
		}
		return f(e, slots)
	}
	s.compare(t, c)
}

// sumSquares wants float64 sums: squares that float32 cannot hold, and many.
func (s *suite) sumSquares(t *testing.T, rng *rand.Rand) {
	for _, scale := range []float64{1, 1e-30, 1e30} {
		var xs []engine.Tensor
		want := 0.0
		for _, shape := range parameterShapes {
			a := scaled(rng, scale, shape...)
			x, err := newTensor(s.eng, a)
			if err != nil {
				t.Fatal(err)
			}
			xs = append(xs, x)
			for _, v := range a.v {
				want += float64(v) * float64(v)
			}
		}
		got, err := s.eng.SumSquares(xs)
		if err != nil || math.Abs(got-want) > 1e-6*want {
			t.Errorf("sum of squares about %v: %v, %v, want %v", scale, got, err, want)
		}
	}
	if got, err := s.eng.SumSquares(nil); err != nil || got != 0 {
		t.Errorf("sum of squares of nothing: %v, %v", got, err)
	}
}
