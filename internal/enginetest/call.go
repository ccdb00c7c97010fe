package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
)

// array is a tensor on the host. One without a shape stands for a nil tensor.
type array struct {
	shape []int
	v     []float32
}

// empty is an array without numbers: a destination.
func empty(shape ...int) array { return array{shape: shape} }

// normal draws an array of normal numbers.
func normal(rng *rand.Rand, shape ...int) array { return scaled(rng, 1, shape...) }

// scaled draws an array of normal numbers times scale.
func scaled(rng *rand.Rand, scale float64, shape ...int) array {
	a := array{shape, make([]float32, volume(shape))}
	for i := range a.v {
		a.v[i] = float32(scale * rng.NormFloat64())
	}
	return a
}

// positive draws numbers between 0.5 and 2, as of a variance.
func positive(rng *rand.Rand, shape ...int) array {
	a := array{shape, make([]float32, volume(shape))}
	for i := range a.v {
		a.v[i] = float32(0.5 + 1.5*rng.Float64())
	}
	return a
}

// levels draws numbers from a few integers, so that many are equal.
func levels(rng *rand.Rand, n int, shape ...int) array {
	a := array{shape, make([]float32, volume(shape))}
	for i := range a.v {
		a.v[i] = float32(rng.IntN(n) - n/2)
	}
	return a
}

func volume(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// between draws an integer from lo to hi.
func between(rng *rand.Rand, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }

func heads(rng *rand.Rand) bool { return rng.IntN(2) == 0 }

// call is one use of an operation. Destinations with numbers hold these before
// the call, the others NaN, since an operation overwrites them.
type call struct {
	what    string
	out, in []array
	f       func(e engine.Engine, out, in []engine.Tensor) error
	// rel is the allowed error relative to max|want| or, if that is larger, unit.
	rel, unit float64
	// lenient wants only that what is not finite in the reference is not finite
	// in the engine either: a bad number may spread further, never vanish.
	lenient bool
	// saturates lets the largest finite number stand for an infinity.
	saturates bool
	// floor is an error allowed besides, in absolute terms.
	floor float64
}

// on runs the call on an engine and returns its outputs.
func (c call) on(e engine.Engine) ([][]float32, error) {
	out, err := tensors(e, c.out, float32(math.NaN()))
	if err != nil {
		return nil, err
	}
	in, err := tensors(e, c.in, 0)
	if err != nil {
		return nil, err
	}
	if err := guard(func() error { return c.f(e, out, in) }); err != nil {
		return nil, err
	}
	for i, a := range c.in {
		after, err := numbers(e, in[i])
		if err != nil {
			return nil, err
		}
		if j := firstDifference(after, a.v); j >= 0 {
			return nil, fmt.Errorf("changed its source %d at [%d] from %v to %v", i, j, a.v[j], after[j])
		}
	}
	results := make([][]float32, len(out))
	for i, o := range out {
		if results[i], err = numbers(e, o); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r, debug.Stack()}
		}
	}()
	return f()
}

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// tensors makes and fills tensors; where an array has no numbers, with fill.
func tensors(e engine.Engine, arrays []array, fill float32) ([]engine.Tensor, error) {
	list := make([]engine.Tensor, len(arrays))
	for i, a := range arrays {
		if a.shape == nil {
			continue
		}
		v := a.v
		if v == nil {
			v = slices.Repeat([]float32{fill}, volume(a.shape))
		}
		t, err := newTensor(e, array{a.shape, v})
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

func newTensor(e engine.Engine, a array) (engine.Tensor, error) {
	t, err := e.New(a.shape...)
	if err != nil {
		return nil, err
	}
	if got := []int(t.Shape()); !slices.Equal(got, a.shape) {
		return nil, fmt.Errorf("new tensor has the shape %v, want %v", got, a.shape)
	}
	return t, e.Write(t, a.v)
}

// numbers reads a tensor, nil from nil.
func numbers(e engine.Engine, t engine.Tensor) ([]float32, error) {
	if t == nil {
		return nil, nil
	}
	v := make([]float32, volume(t.Shape()))
	return v, e.Read(v, t)
}

// firstDifference compares bit by bit, but all NaN are equal.
func firstDifference(a, b []float32) int {
	for i := range a {
		if a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]) {
			return i
		}
	}
	return -1
}

// repeatEvery says how many calls pass between two that are made twice to see
// that results are the same to the last bit.
const repeatEvery = 4

// compare runs the call on both engines.
func (s *suite) compare(t *testing.T, c call) {
	t.Helper()
	s.calls++
	if s.opt.Every > 1 && s.calls%s.opt.Every != 0 {
		return
	}
	if s.opt.Narrow {
		c.in, c.out = narrowed(c.in), narrowed(c.out)
		c.rel = max(c.rel, 1./128) // results are stored so too
	}
	if err := c.agree(s.eng, s.ref, s.calls/max(1, s.opt.Every)%repeatEvery == 0); err != nil {
		t.Errorf("%s: %v", c.what, err)
	}
}

// agree returns how the results of eng differ from those of ref, if they do.
func (c call) agree(eng, ref engine.Engine, twice bool) error {
	want, err := c.on(ref)
	if err != nil {
		return fmt.Errorf("the reference: %w", err)
	}
	got, err := c.on(eng)
	if err != nil {
		return err
	}
	for i := range want {
		if err := c.close(got[i], want[i]); err != nil {
			return fmt.Errorf("output %d %v: %w", i, c.out[i].shape, err)
		}
	}
	if !twice {
		return nil
	}
	again, err := c.on(eng)
	if err != nil {
		return err
	}
	for i := range got {
		if j := firstDifference(again[i], got[i]); j >= 0 {
			return fmt.Errorf("output %d: [%d] is %v, and %v when repeated", i, j, got[i][j], again[i][j])
		}
	}
	return nil
}

// flushed is what may be missing because an engine takes subnormal numbers as 0.
const flushed = 1e-37

func (c call) close(got, want []float32) error {
	if c.lenient {
		return badStaysBad(got, want)
	}
	if c.saturates {
		got = saturated(got, want)
	}
	w := widen(want)
	limit := c.rel*max(c.unit, golden.MaxAbs(w)) + flushed + c.floor
	return golden.Compare(widen(got), w, func(float64) float64 { return limit })
}

// saturated returns got with infinities for the largest finite numbers where an
// infinity is wanted.
func saturated(got, want []float32) []float32 {
	got = slices.Clone(got)
	for i, w := range want {
		if math.IsInf(float64(w), 0) && got[i] == float32(math.Copysign(math.MaxFloat32, float64(w))) {
			got[i] = w
		}
	}
	return got
}

func badStaysBad(got, want []float32) error {
	for i, w := range want {
		if bad(w) && !bad(got[i]) {
			return fmt.Errorf("[%d] is %v, want %v: a bad number has vanished", i, got[i], w)
		}
	}
	return nil
}

func bad(x float32) bool { return x != x || math.IsInf(float64(x), 0) }

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// narrowed rounds the numbers of arrays of three axes and more to bfloat16,
// towards 0, so that such a tensor holds them as they are.
func narrowed(list []array) []array {
	list = slices.Clone(list)
	for i, a := range list {
		if len(a.shape) < 3 || a.v == nil {
			continue
		}
		list[i].v = make([]float32, len(a.v))
		for j, v := range a.v {
			list[i].v[j] = math.Float32frombits(math.Float32bits(v) &^ 0xffff)
		}
	}
	return list
}
