package enginetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// rowScale tests what scales and sums rows, as the gradient of a convolution
// with an epilogue does.
func (s *suite) rowScale(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range [][]int{{1}, {7}, {5, 1}, {3, 70}, {17, 3, 3, 3}, {64, 5, 1, 1}, {2, 300, 7, 9}, {130, 33}} {
		k, length := shape[0], volume(shape[1:])
		a, b, f := normal(rng, shape...), normal(rng, shape...), normal(rng, k)
		f.v[0] = 0
		what := fmt.Sprint(shape)
		s.compare(t, call{what: "scale rows " + what, out: []array{empty(shape...)}, in: []array{a, f}, rel: s.opt.Elementwise,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.ScaleRows(out[0], in[0], in[1]) }})
		s.compare(t, call{what: "scale rows in place " + what, out: []array{a}, in: []array{f}, rel: s.opt.Elementwise,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.ScaleRows(out[0], out[0], in[0]) }})
		s.compare(t, call{what: "row dots " + what, out: []array{empty(k)}, in: []array{a, b}, rel: s.opt.Sum, unit: math.Sqrt(float64(length)),
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.RowDots(out[0], in[0], in[1]) }})
	}
}

func (s *suite) sliceReLUGrad(t *testing.T) {
	rng := s.rng(t)
	for _, tail := range [][]int{nil, {1, 1}, {5}, {3, 7}, {8, 8}} {
		for range 4 {
			n, total := between(rng, 1, 4), between(rng, 1, 40)
			c := between(rng, 1, total)
			from := between(rng, 0, total-c)
			shape := func(c int) []int { return append([]int{n, c}, tail...) }
			dy, y := normal(rng, shape(total)...), levels(rng, 5, shape(total)...)
			s.compare(t, call{what: fmt.Sprintf("channels %d to %d of %v", from, from+c, dy.shape), out: []array{empty(shape(c)...)}, in: []array{dy, y},
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.SliceReLUGrad(out[0], in[0], in[1], from)
				}})
		}
	}
}

func (s *suite) foldNorm(t *testing.T) {
	rng := s.rng(t)
	for i, c := range []int{1, 3, 16, 33, 70} {
		eps := []float32{1e-5, 1e-3, 0.1}[i%3]
		bias, gamma, beta, mean, variance := normal(rng, c), normal(rng, c), normal(rng, c), normal(rng, c), positive(rng, c)
		gamma.v[0] = 0
		dscale, dshift := normal(rng, c), normal(rng, c)
		for _, b := range []array{bias, {}} {
			what := fmt.Sprintf("%d channels, eps %v, bias %v", c, eps, b.shape != nil)
			s.compare(t, call{
				what: what, in: []array{b, gamma, beta, mean, variance}, out: []array{empty(c), empty(c)}, rel: s.opt.Elementwise, unit: 1,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.FoldNorm(out[0], out[1], in[0], in[1], in[2], in[3], in[4], eps)
				},
			})
			s.gradients(t, call{
				what: what + " gradient", in: []array{dscale, dshift, b, gamma, mean, variance}, rel: s.opt.Elementwise, unit: 1,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.FoldNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], in[5], eps)
				},
			}, empty(c), empty(c), empty(c))
		}
	}
}

// foldedConv holds a convolution with the folded scale and shift against the
// convolution and the frozen normalization.
func (s *suite) foldedConv(t *testing.T) {
	rng := s.rng(t)
	for _, g := range usual() {
		if g.products() > 300_000 {
			continue
		}
		x, w, bias := normal(rng, g.x()...), normal(rng, g.weights()...), normal(rng, g.k)
		gamma, beta, mean, variance := normal(rng, g.k), normal(rng, g.k), normal(rng, g.k), positive(rng, g.k)
		c := call{what: g.String(), out: []array{empty(g.y()...)}, in: []array{x, w, bias, gamma, beta, mean, variance},
			rel: s.opt.Sum, unit: math.Sqrt(float64(g.products()/volume(g.y()) + 1))}
		folded, apart := c, c
		folded.f = func(e engine.Engine, out, in []engine.Tensor) error {
			ts, err := tensors(e, []array{empty(g.k), empty(g.k)}, 0)
			if err != nil {
				return err
			}
			if err := e.FoldNorm(ts[0], ts[1], in[2], in[3], in[4], in[5], in[6], 1e-5); err != nil {
				return err
			}
			return e.Conv(out[0], in[0], in[1], g.spec, engine.Epilogue{Scale: ts[0], Shift: ts[1]})
		}
		apart.f = func(e engine.Engine, out, in []engine.Tensor) error {
			sums, err := e.New(g.y()...)
			if err != nil {
				return err
			}
			if err := e.Conv(sums, in[0], in[1], g.spec, engine.Epilogue{Shift: in[2]}); err != nil {
				return err
			}
			return e.FrozenNorm(out[0], sums, in[3], in[4], in[5], in[6], 1e-5)
		}
		got, err := folded.on(s.eng)
		if err != nil {
			t.Fatalf("%v: %v", g, err)
		}
		want, err := apart.on(s.ref)
		if err != nil {
			t.Fatalf("%v: the reference: %v", g, err)
		}
		for i := range want[0] {
			if d := math.Abs(float64(got[0][i] - want[0][i])); !(d <= c.rel*max(c.unit, math.Abs(float64(want[0][i])))*10) {
				t.Errorf("%v: [%d] is %v folded, %v apart", g, i, got[0][i], want[0][i])
				break
			}
		}
	}
}

// arenas puts tensors side by side into one piece of memory.
func (s *suite) arenas(t *testing.T) {
	rng := s.rng(t)
	shapes := [][]int{{1}, {3, 5}, {2, 3, 5, 7}, {33}, {1, 1, 1, 1}, {4, 16, 8, 8}}
	offsets := make([]int64, len(shapes))
	total := int64(0)
	for i, shape := range shapes {
		n, err := s.eng.Footprint(shape...)
		if err != nil {
			t.Fatal(err)
		}
		if n < 4*int64(volume(shape)) {
			t.Errorf("footprint of %v is %d bytes, less than its numbers take", shape, n)
		}
		offsets[i] = total
		total += n
	}
	a, err := s.eng.Arena(total)
	if err != nil {
		t.Fatal(err)
	}
	var made []engine.Tensor
	var want []array
	for i, shape := range shapes {
		x, err := a.Tensor(offsets[i], shape...)
		if err != nil {
			t.Fatal(err)
		}
		v := normal(rng, shape...)
		if err := s.eng.Write(x, v.v); err != nil {
			t.Fatal(err)
		}
		made, want = append(made, x), append(want, v)
	}
	for i, x := range made {
		got, err := numbers(s.eng, x)
		if err != nil {
			t.Fatal(err)
		}
		if j := firstDifference(got, want[i].v); j >= 0 {
			t.Errorf("%v: [%d] is %v, wrote %v: neighbors share memory", shapes[i], j, got[j], want[i].v[j])
		}
		if err := s.eng.Add(x, x, x); err != nil {
			t.Errorf("a tensor in an arena cannot be used: %v", err)
		}
	}
	// Two tensors in one place hold the same numbers.
	other, err := a.Tensor(offsets[1], shapes[1]...)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := numbers(s.eng, made[1])
	two, _ := numbers(s.eng, other)
	if j := firstDifference(one, two); j >= 0 {
		t.Errorf("two tensors in one place differ at [%d]: %v and %v", j, one[j], two[j])
	}
	for _, c := range []struct {
		what   string
		offset int64
		shape  []int
	}{
		{"a negative offset", -64, []int{1}}, {"an offset between numbers", 2, []int{1}},
		{"more than there is", offsets[5], []int{4, 16, 9, 9}}, {"a start beyond the end", total + 1<<20, []int{1}}, {"an empty shape", 0, []int{2, 0}},
	} {
		if x, err := a.Tensor(c.offset, c.shape...); err == nil {
			t.Errorf("%s gives %v instead of an error", c.what, x.Shape())
		}
	}
	if _, err := s.eng.Footprint(3, 0); err == nil {
		t.Error("an empty shape has a footprint")
	}
	if _, err := s.eng.Arena(-1); err == nil {
		t.Error("an arena of -1 bytes is no error")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
