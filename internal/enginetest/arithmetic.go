package enginetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

func (s *suite) elementwise(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range [][]int{{1}, {3}, {16}, {17}, {31, 1}, {5, 13}, {2, 3, 5, 7}, {1, 70, 1, 1}, {4, 9, 8, 8}, {3, 5, 7}} {
		a, b := normal(rng, shape...), normal(rng, shape...)
		a.v[0] = 0 // the gradient of ReLU at 0 is 0
		run := func(what string, out array, in []array, f func(e engine.Engine, out, in []engine.Tensor) error) {
			t.Helper()
			s.compare(t, call{what: fmt.Sprintf("%s %v", what, shape), out: []array{out}, in: in, f: f, rel: s.opt.Elementwise})
		}
		dst, both, one := empty(shape...), []array{a, b}, []array{b}
		run("add", dst, both, func(e engine.Engine, out, in []engine.Tensor) error { return e.Add(out[0], in[0], in[1]) })
		run("add in place of a", a, one, func(e engine.Engine, out, in []engine.Tensor) error { return e.Add(out[0], out[0], in[0]) })
		run("add in place of b", a, one, func(e engine.Engine, out, in []engine.Tensor) error { return e.Add(out[0], in[0], out[0]) })
		run("add to itself", a, nil, func(e engine.Engine, out, _ []engine.Tensor) error { return e.Add(out[0], out[0], out[0]) })
		for _, k := range []float32{0, 1, -2.5} {
			run("scale", dst, one, func(e engine.Engine, out, in []engine.Tensor) error { return e.Scale(out[0], in[0], k) })
			run("scale in place", a, nil, func(e engine.Engine, out, _ []engine.Tensor) error { return e.Scale(out[0], out[0], k) })
		}
		run("relu", dst, both[:1], func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU(out[0], in[0]) })
		run("relu in place", a, nil, func(e engine.Engine, out, _ []engine.Tensor) error { return e.ReLU(out[0], out[0]) })
		wide := scaled(rng, 6, shape...)
		wide.v[0] = 6 // and at 6
		run("relu6", dst, []array{wide}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6(out[0], in[0]) })
		run("relu6 in place", wide, nil, func(e engine.Engine, out, _ []engine.Tensor) error { return e.ReLU6(out[0], out[0]) })
		run("relu6 gradient", dst, []array{wide, b}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6Grad(out[0], in[1], in[0]) })
		run("relu6 gradient in place", b, []array{wide}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6Grad(out[0], out[0], in[0]) })
		run("relu gradient", dst, both, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLUGrad(out[0], in[1], in[0]) })
		run("relu gradient in place", b, both[:1], func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLUGrad(out[0], out[0], in[0]) })
	}
}

func (s *suite) matmul(t *testing.T) {
	rng := s.rng(t)
	sizes := [][3]int{{1, 1, 1}, {1, 1, 70}, {1, 70, 1}, {70, 1, 1}, {16, 16, 16}, {17, 31, 33}, {64, 48, 64}, {1, 100, 37}, {97, 1, 65}, {130, 70, 257}, {9, 530, 20}, {13, 20, 700}, {300, 17, 40}}
	for range 24 {
		sizes = append(sizes, [3]int{between(rng, 1, 70), between(rng, 1, 70), between(rng, 1, 70)})
	}
	for _, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for mode := range 8 {
			transA, transB, accumulate := mode&1 != 0, mode&2 != 0, mode&4 != 0
			a, b, c := normal(rng, m, k), normal(rng, k, n), empty(m, n)
			if transA {
				a.shape = []int{k, m}
			}
			if transB {
				b.shape = []int{n, k}
			}
			if accumulate {
				c = normal(rng, m, n)
			}
			s.compare(t, call{
				what: fmt.Sprintf("m %d, n %d, k %d, transposed %v %v, accumulate %v", m, n, k, transA, transB, accumulate),
				out:  []array{c}, in: []array{a, b}, rel: s.opt.Sum, unit: math.Sqrt(float64(k)),
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.MatMul(out[0], in[0], in[1], transA, transB, accumulate)
				},
			})
		}
	}
	a := normal(rng, 9, 9)
	s.compare(t, call{what: "a times itself", out: []array{empty(9, 9)}, in: []array{a}, rel: s.opt.Sum, unit: 3,
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.MatMul(out[0], in[0], in[0], false, true, false)
		}})
}

func (s *suite) linear(t *testing.T) {
	rng := s.rng(t)
	for round := range 24 {
		rows, in, out := between(rng, 1, 40), between(rng, 1, 70), between(rng, 1, 70)
		if round < 3 {
			[]func(){func() { rows = 1 }, func() { in = 1 }, func() { out = 1 }}[round]()
		}
		x, w, bias, dy := normal(rng, rows, in), normal(rng, out, in), normal(rng, out), normal(rng, rows, out)
		if round%3 == 2 { // tokens, or more axes
			x.shape, dy.shape = []int{1, rows, in}, []int{1, rows, out}
			if rows%2 == 0 {
				x.shape, dy.shape = []int{2, 1, rows / 2, in}, []int{2, 1, rows / 2, out}
			}
		}
		if round%2 == 1 {
			bias = array{}
		}
		what := fmt.Sprintf("%v to %d", x.shape, out)
		s.compare(t, call{what: what, out: []array{empty(dy.shape...)}, in: []array{x, w, bias}, rel: s.opt.Sum, unit: math.Sqrt(float64(in)),
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Linear(out[0], in[0], in[1], in[2]) }})
		s.gradients(t, call{what: what + " gradient", in: []array{dy, x, w}, rel: s.opt.Sum, unit: math.Sqrt(float64(max(rows, out))),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.LinearGrad(out[0], out[1], out[2], in[0], in[1], in[2])
			}}, empty(x.shape...), empty(out, in), empty(out))
	}
}

// gradients compares a gradient with all its destinations, with each of them
// alone, and with none.
func (s *suite) gradients(t *testing.T, c call, out ...array) {
	t.Helper()
	what := c.what
	for wanted := 0; wanted < 1<<len(out); wanted++ {
		count := 0
		c.out = make([]array, len(out))
		for i := range out {
			if wanted>>i&1 != 0 {
				c.out[i] = out[i]
				count++
			}
		}
		if count > 1 && count < len(out) {
			continue
		}
		c.what = fmt.Sprintf("%s, destinations %0*b", what, len(out), wanted)
		s.compare(t, c)
	}
}

func (s *suite) channels(t *testing.T) {
	rng := s.rng(t)
	for _, tail := range [][]int{nil, {1, 1}, {5}, {3, 7}, {8, 8}} {
		for range 4 {
			n, total := between(rng, 1, 4), 0
			shape := func(c int) []int { return append([]int{n, c}, tail...) }
			var parts []array
			for range between(rng, 1, 5) {
				c := between(rng, 1, 33)
				total += c
				parts = append(parts, normal(rng, shape(c)...))
			}
			s.compare(t, call{what: fmt.Sprintf("concat of %d to %v", len(parts), shape(total)), out: []array{empty(shape(total)...)}, in: parts,
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Concat(out[0], in...) }})
			whole, from := normal(rng, shape(total)...), 0
			for _, p := range parts {
				s.compare(t, call{what: fmt.Sprintf("slice %v from %d of %v", p.shape, from, whole.shape), out: []array{empty(p.shape...)}, in: []array{whole},
					f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Slice(out[0], in[0], from) }})
				from += p.shape[1]
			}
		}
	}
	twice := normal(rng, 2, 3, 4)
	s.compare(t, call{what: "concat of a tensor with itself", out: []array{empty(2, 6, 4)}, in: []array{twice},
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Concat(out[0], in[0], in[0]) }})
}
