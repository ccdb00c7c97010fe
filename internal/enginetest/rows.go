package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// rowShapes have their rows along the last axis.
func rowShapes(rng *rand.Rand) [][]int {
	list := [][]int{{1, 1}, {1, 70}, {33, 1}, {3, 16}, {5, 33}, {2, 5, 64}, {2, 197, 6}, {1, 2, 3, 130}, {70, 384}}
	for range 6 {
		list = append(list, []int{between(rng, 1, 40), between(rng, 1, 150)}, []int{between(rng, 1, 3), between(rng, 1, 40), between(rng, 1, 70)})
	}
	return list
}

func (s *suite) layerNorm(t *testing.T) {
	rng := s.rng(t)
	for i, shape := range rowShapes(rng) {
		d, eps := shape[len(shape)-1], []float32{1e-6, 1e-5, 0.1}[i%3]
		x, dy, gamma, beta := normal(rng, shape...), normal(rng, shape...), normal(rng, d), normal(rng, d)
		if i%2 == 1 { // far from 0, where a mean of squares cancels
			for j := range x.v {
				x.v[j] += 30
			}
		}
		if d < 4 { // rows of few numbers are nothing but rounding unless eps is large
			eps = 0.1
		}
		what := fmt.Sprintf("%v, eps %v", shape, eps)
		rows := shape[:len(shape)-1]
		s.compare(t, call{
			what: what, in: []array{x, gamma, beta}, rel: s.opt.Sum, unit: 3,
			out: []array{empty(shape...), empty(rows...), empty(rows...)},
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.LayerNorm(out[0], out[1], out[2], in[0], in[1], in[2], eps)
			},
		})
		mean, invStd := rowStatistics(x, eps)
		s.gradients(t, call{
			what: what + " gradient", in: []array{dy, x, gamma, mean, invStd}, rel: s.opt.Sum, unit: 3,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.LayerNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			},
		}, empty(shape...), empty(d), empty(d))
	}
}

// rowStatistics returns the mean and inverse deviation of each row.
func rowStatistics(x array, eps float32) (mean, invStd array) {
	last := len(x.shape) - 1
	rows, d := volume(x.shape[:last]), x.shape[last]
	flat := array{[]int{d, rows}, make([]float32, len(x.v))}
	for i, v := range x.v {
		flat.v[i%d*rows+i/d] = v
	}
	mean, invStd = statistics(flat, eps)
	mean.shape, invStd.shape = x.shape[:last], x.shape[:last]
	return mean, invStd
}

// gelu goes through all of the range where the function bends, and far beyond.
func (s *suite) gelu(t *testing.T) {
	rng := s.rng(t)
	for _, form := range []engine.GELUForm{engine.GELUErf, engine.GELUTanh, engine.GELUQuick} {
		for _, scale := range []float64{1e-30, 1e-3, 1, 5, 100, 1e15} {
			for _, shape := range [][]int{{1}, {17}, {3, 5, 7}, {1, 64, 33}} {
				x, dy := scaled(rng, scale, shape...), normal(rng, shape...)
				x.v[0] = 0
				s.compareGELU(t, fmt.Sprintf("form %d, %v at scale %v", form, shape, scale), x, dy, form)
			}
		}
		x := empty(4001)
		for i := range 4001 {
			x.v = append(x.v, float32(i-2000)/125)
		}
		s.compareGELU(t, fmt.Sprintf("form %d, -16 to 16", form), x, levels(rng, 3, 4001), form)
		left := empty(2000) // where the function is small and its size nothing to go by
		left.v = x.v[:2000]
		for from := 0; from < 2000; from += 125 {
			part := array{[]int{125}, left.v[from : from+125]}
			s.compareGELU(t, fmt.Sprintf("form %d from %v", form, part.v[0]), part, normal(rng, 125), form)
		}
	}
}

func (s *suite) compareGELU(t *testing.T, what string, x, dy array, form engine.GELUForm) {
	t.Helper()
	// The form with tanh subtracts two numbers of size 1 on the left.
	floor := 0.0
	if form == engine.GELUTanh {
		floor = 1e-6
	}
	forward := func(e engine.Engine, out, in []engine.Tensor) error { return e.GELU(out[0], in[0], form) }
	backward := func(e engine.Engine, out, in []engine.Tensor) error { return e.GELUGrad(out[0], in[0], in[1], form) }
	s.compare(t, call{what: what, out: []array{empty(x.shape...)}, in: []array{x}, f: forward, rel: s.opt.Sum, floor: floor})
	s.compare(t, call{what: what + ", gradient", out: []array{empty(x.shape...)}, in: []array{dy, x}, f: backward, rel: s.opt.Sum, floor: floor})
	s.compare(t, call{what: what + ", in place", out: []array{x}, rel: s.opt.Sum, floor: floor,
		f: func(e engine.Engine, out, _ []engine.Tensor) error { return e.GELU(out[0], out[0], form) }})
	s.compare(t, call{what: what + ", gradient in place", out: []array{dy}, in: []array{x}, rel: s.opt.Sum, floor: floor,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GELUGrad(out[0], out[0], in[0], form) }})
}

func (s *suite) softmax(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range append(rowShapes(rng), []int{1}, []int{37}) {
		for _, scale := range []float64{0, 1, 30, 1e4, 1e30} {
			x, dy := scaled(rng, scale, shape...), normal(rng, shape...)
			what := fmt.Sprintf("%v at scale %v", shape, scale)
			s.compareRows(t, what, x, dy, engine.Engine.Softmax, engine.Engine.SoftmaxGrad)
			s.compareRows(t, "log, "+what, x, dy, engine.Engine.LogSoftmax, engine.Engine.LogSoftmaxGrad)
		}
	}
	// Exclusion: -Inf has no weight.
	x := normal(rng, 4, 21)
	for i := range x.v {
		if i%3 == 0 {
			x.v[i] = float32(math.Inf(-1))
		}
	}
	s.compare(t, call{what: "minus infinity", out: []array{empty(4, 21)}, in: []array{x}, rel: s.opt.Sum,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Softmax(out[0], in[0]) }})
}

// compareRows compares an operation on rows and its gradient from its output,
// both also in place.
func (s *suite) compareRows(t *testing.T, what string, x, dy array,
	forward func(e engine.Engine, y, x engine.Tensor) error, backward func(e engine.Engine, dx, dy, y engine.Tensor) error) {
	t.Helper()
	c := call{what: what, out: []array{empty(x.shape...)}, in: []array{x}, rel: s.opt.Sum,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return forward(e, out[0], in[0]) }}
	s.compare(t, c)
	y, err := c.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	out := array{x.shape, y[0]}
	s.compare(t, call{what: what + ", in place", out: []array{x}, rel: s.opt.Sum,
		f: func(e engine.Engine, out, _ []engine.Tensor) error { return forward(e, out[0], out[0]) }})
	s.compare(t, call{what: what + ", gradient", out: []array{empty(x.shape...)}, in: []array{dy, out}, rel: s.opt.Sum, unit: 0.1,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return backward(e, out[0], in[0], in[1]) }})
	s.compare(t, call{what: what + ", gradient in place", out: []array{dy}, in: []array{out}, rel: s.opt.Sum, unit: 0.1,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return backward(e, out[0], out[0], in[0]) }})
}
