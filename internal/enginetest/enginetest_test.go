package enginetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// The reference itself stands against golden numbers, hand-worked steps and
// finite differences here; the comparisons with itself show that the suite asks
// nothing that the definitions contradict.
func TestReferenceEngine(t *testing.T) {
	Run(t, reference.New(), Options{Golden: true})
}

// faulty is the reference with one operation replaced.
type faulty struct {
	reference.Engine
	add func(dst, a, b engine.Tensor) error
}

func (f faulty) Add(dst, a, b engine.Tensor) error { return f.add(dst, a, b) }

func TestFaultsAreCaught(t *testing.T) {
	right := reference.New()
	change := func(x engine.Tensor, at int, by float32) error {
		v, err := numbers(right, x)
		if err != nil {
			return err
		}
		v[at] += by
		return right.Write(x, v)
	}
	calls := 0
	for name, c := range map[string]struct {
		add  func(dst, a, b engine.Tensor) error
		want string
	}{
		"wrong": {func(dst, a, b engine.Tensor) error {
			return errors.Join(right.Add(dst, a, b), change(dst, 2, 1e-3))
		}, "first [2]"},
		"does nothing": {func(dst, a, b engine.Tensor) error { return nil }, "3 of 3"},
		"changes a source": {func(dst, a, b engine.Tensor) error {
			return errors.Join(right.Add(dst, a, b), change(b, 1, 1))
		}, "changed its source 1 at [1]"},
		"fails":  {func(dst, a, b engine.Tensor) error { return errors.New("broken") }, "broken"},
		"panics": {func(dst, a, b engine.Tensor) error { panic("out of range") }, "panic: out of range"},
		"differs when repeated": {func(dst, a, b engine.Tensor) error {
			calls++
			return errors.Join(right.Add(dst, a, b), change(dst, 0, float32(calls)*1e-6))
		}, "when repeated"},
	} {
		use := call{
			out: []array{empty(3)}, in: []array{{[]int{3}, []float32{1, 2, 3}}, {[]int{3}, []float32{4, 5, 6}}}, rel: 1e-5,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Add(out[0], in[0], in[1]) },
		}
		if err := use.agree(faulty{right, right.Add}, right, true); err != nil {
			t.Fatal(err)
		}
		if err := use.agree(faulty{right, c.add}, right, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("an addition that %s: %v, want %q", name, err, c.want)
		}
	}
}

func TestVanishedNaNIsCaught(t *testing.T) {
	nan := float32(0) / zero()
	if badStaysBad([]float32{nan, 1}, []float32{nan, 2}) != nil {
		t.Error("a NaN that stays is a fault")
	}
	if badStaysBad([]float32{0, 1}, []float32{nan, 2}) == nil {
		t.Error("a NaN that vanished is no fault")
	}
}

func zero() float32 { return 0 }

func TestWrongSlopeIsCaught(t *testing.T) {
	slope := []float64{1, -2, 0.5}
	if err := slopesAgree("x", []float32{1.001, -2, 0.5}, slope); err != nil {
		t.Error(err)
	}
	for _, got := range [][]float32{{1.02, -2, 0.5}, {1, 2, 0.5}, {1, -2, float32(0) / zero()}} {
		if slopesAgree("x", got, slope) == nil {
			t.Errorf("%v passes for %v", got, slope)
		}
	}
}
