package enginetest

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// memory tests what moves numbers: New, Write, Read, Copy, Zero, Finite.
func (s *suite) memory(t *testing.T) {
	rng := s.rng(t)
	if s.eng.Name() == "" {
		t.Error("the engine has no name")
	}
	for _, shape := range [][]int{{1}, {7}, {1, 1}, {5, 3}, {2, 3, 4}, {1, 1, 1, 1}, {2, 3, 5, 7}, {3, 17, 1, 1}, {1, 1, 33, 65}} {
		a := normal(rng, shape...)
		s.compare(t, call{what: "new", out: []array{empty(shape...)}, f: func(e engine.Engine, out, _ []engine.Tensor) error {
			fresh, err := e.New(shape...)
			if err != nil {
				return err
			}
			return e.Copy(out[0], fresh) // zeros
		}})
		s.compare(t, call{what: "copy", out: []array{empty(shape...)}, in: []array{a}, f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.Copy(out[0], in[0])
		}})
		s.compare(t, call{what: "copy into another shape", out: []array{empty(len(a.v))}, in: []array{a}, f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.Copy(out[0], in[0])
		}})
		s.compare(t, call{what: "zero", out: []array{a}, f: func(e engine.Engine, out, _ []engine.Tensor) error {
			return e.Zero(out[0])
		}})
	}
	s.roundTrip(t)
	s.finite(t)
}

// roundTrip writes and reads every kind of number unchanged.
func (s *suite) roundTrip(t *testing.T) {
	inf := float32(math.Inf(1))
	v := []float32{0, float32(math.Copysign(0, -1)), 1e-45, math.MaxFloat32, inf, -inf, float32(math.NaN())}
	x, err := newTensor(s.eng, array{[]int{1, 7}, v})
	if err != nil {
		t.Fatal(err)
	}
	got, err := numbers(s.eng, x)
	if err != nil {
		t.Fatal(err)
	}
	if i := firstDifference(got, v); i >= 0 {
		t.Errorf("wrote %v, read %v", v[i], got[i])
	}
	if !math.Signbit(float64(got[1])) {
		t.Error("-0 lost its sign")
	}
}

// finite puts one bad number at every place of tensors of many sizes.
func (s *suite) finite(t *testing.T) {
	rng := s.rng(t)
	for _, n := range []int{1, 2, 15, 16, 17, 63, 64, 65, 257, 1000} {
		a := normal(rng, n)
		for range 6 {
			at := rng.IntN(n)
			for _, bad := range []float64{0, math.MaxFloat32, math.NaN(), math.Inf(1), math.Inf(-1)} {
				a.v[at] = float32(bad)
				x, err := newTensor(s.eng, a)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.eng.Finite(x)
				if want := !math.IsNaN(bad) && !math.IsInf(bad, 0); err != nil || got != want {
					t.Errorf("%v at %d of %d: finite is %v, %v, want %v", bad, at, n, got, err, want)
				}
			}
			a.v[at] = 1
		}
	}
}
