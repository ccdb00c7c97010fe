//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// clipSlots are parameters of unlike sizes on an engine.
func clipSlots(t *testing.T, e engine.Engine, spoilt float32) (slots []engine.Slot, grads []engine.Tensor) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	tensor := func(n int, square bool) engine.Tensor {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			if square {
				v[i] *= v[i]
			}
		}
		x, err := e.New(n)
		if err == nil {
			err = e.Write(x, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for i, n := range []int{3, 500, 20000} {
		s := engine.Slot{Param: tensor(n, false), Grad: tensor(n, false), State: [2]engine.Tensor{tensor(n, true), tensor(n, true)}, Rate: .01, Decay: .1 * float32(i)}
		slots, grads = append(slots, s), append(grads, s.Grad)
	}
	if spoilt != 0 {
		v := make([]float32, 500)
		v[70] = spoilt
		if err := e.Write(grads[1], v); err != nil {
			t.Fatal(err)
		}
	}
	return slots, grads
}

func numbers(t *testing.T, e engine.Engine, x engine.Tensor) []float32 {
	t.Helper()
	v := make([]float32, x.Size())
	if err := e.Read(v, x); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAClippedStepIsThatOfClippedGradients(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	slots, grads := clipSlots(t, eng, 0)
	for range 20 { // until places of tables come again
		c, err := eng.Clip(grads, 1, 1)
		if err == nil {
			err = c.SGD(slots, engine.SGDSpec{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if dev.Calls["Synchronize"] > 0 {
			t.Fatal("the host waits for the device before it asks for the norm")
		}
	}
	clipAgrees(t, eng)
}

func clipAgrees(t *testing.T, eng *Engine) {
	t.Helper()
	moves := map[string]func(m engine.Mover, slots []engine.Slot) error{
		"sgd": func(m engine.Mover, s []engine.Slot) error {
			return m.SGD(s, engine.SGDSpec{Momentum: .9, Nesterov: true})
		},
		"rmsprop": func(m engine.Mover, s []engine.Slot) error {
			return m.RMSprop(s, engine.RMSpropSpec{Alpha: .99, Eps: 1e-8})
		},
		"adamw": func(m engine.Mover, s []engine.Slot) error {
			return m.AdamW(s, engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 2})
		},
	}
	for name, move := range moves {
		for _, limits := range [][2]float64{{0, 0}, {10, 0}, {1e6, .5}, {100, .1}} {
			ref := reference.New()
			slots, grads := clipSlots(t, eng, 0)
			refSlots, refGrads := clipSlots(t, ref, 0)
			c, err := eng.Clip(grads, limits[0], limits[1])
			if err == nil {
				err = move(c, slots)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Norm()
			if err != nil {
				t.Fatal(err)
			}
			sum, err := ref.SumSquares(refGrads)
			if err != nil {
				t.Fatal(err)
			}
			want := math.Sqrt(sum)
			if math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s: norm %v, want %v", name, got, want)
			}
			for _, g := range refGrads {
				if limits[0] > 0 && want > limits[0] {
					err = ref.Scale(g, g, float32(limits[0]/want))
				}
				if err == nil && limits[1] > 0 {
					err = ref.Clamp([]engine.Tensor{g}, float32(limits[1]))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := move(ref, refSlots); err != nil {
				t.Fatal(err)
			}
			for i, s := range slots {
				v, w := numbers(t, eng, s.Param), numbers(t, ref, refSlots[i].Param)
				for j := range v {
					if math.Abs(float64(v[j]-w[j])) > 1e-5 {
						t.Fatalf("%s within %v: parameter %d has %v at %d, want %v", name, limits, i, v[j], j, w[j])
					}
				}
			}
		}
	}
}

func TestNothingMovesAlongAGradientThatIsNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		eng, _, _ := newFake(t, Options{})
		slots, grads := clipSlots(t, eng, bad)
		before := numbers(t, eng, slots[2].Param)
		c, err := eng.Clip(grads, 1, 0)
		if err == nil {
			err = c.AdamW(slots, engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		if norm, err := c.Norm(); err != nil || norm-norm == 0 {
			t.Errorf("norm %v, error %v", norm, err)
		}
		for i, v := range numbers(t, eng, slots[2].Param) {
			if v != before[i] {
				t.Fatalf("a parameter moved from %v to %v", before[i], v)
			}
		}
	}
}

func TestANormIsKeptForAWhile(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	slots, grads := clipSlots(t, eng, 0)
	var all []engine.Clipped
	for range keptNumbers + 1 {
		c, err := eng.Clip(grads, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, err := all[0].Norm(); err == nil {
		t.Error("a norm that has been overwritten is handed out")
	}
	if _, err := all[1].Norm(); err != nil {
		t.Error(err)
	}
	if err := all[1].SGD(slots, engine.SGDSpec{}); err == nil {
		t.Error("a step takes the factor of another gradient")
	}
	if _, err := eng.Clip(nil, 1, 0); err == nil {
		t.Error("no gradients have a norm")
	}
	if _, err := eng.Clip(grads, math.NaN(), 0); err == nil {
		t.Error("NaN is a limit")
	}
}

func TestANumberIsReadLaterAsItWas(t *testing.T) {
	lazily(t, func(t *testing.T, eng *Engine) {
		x, err := eng.New(1)
		if err != nil {
			t.Fatal(err)
		}
		var list []func() (float64, error)
		for i := range keptNumbers + 1 {
			if err := eng.Write(x, []float32{float32(i) + .5}); err != nil {
				t.Fatal(err)
			}
			later, err := eng.ReadLater(x)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, later)
		}
		if _, err := list[0](); err == nil || !strings.Contains(err.Error(), "after 4 others, 4 are kept") {
			t.Errorf("a number that has been overwritten: %v", err)
		}
		for i, later := range list[1:] {
			for range 2 {
				if v, err := later(); err != nil || v != float64(i)+1.5 {
					t.Errorf("number %d is %v, %v", i+1, v, err)
				}
			}
		}
		two, err := eng.New(2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eng.ReadLater(two); err == nil || !strings.Contains(err.Error(), "x [2], want one float32 number") {
			t.Errorf("two numbers: %v", err)
		}
	})
}
