package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// normShapes are (N, C) and (N, C, H, W) with at least four values a channel:
// with two, the gradient is nothing but rounding.
func normShapes(rng *rand.Rand) [][]int {
	list := [][]int{{4, 1}, {33, 70}, {6, 16}, {1, 1, 2, 2}, {1, 70, 3, 3}, {2, 17, 1, 5}, {4, 3, 1, 1}, {3, 33, 8, 8}, {2, 5, 13, 17}, {16, 4, 7, 7}}
	for range 10 {
		list = append(list, []int{between(rng, 1, 4), between(rng, 1, 70), between(rng, 2, 9), between(rng, 2, 9)}, []int{between(rng, 4, 40), between(rng, 1, 70)})
	}
	return list
}

func (s *suite) batchNorm(t *testing.T) {
	rng := s.rng(t)
	for i, shape := range normShapes(rng) {
		c := shape[1]
		eps, momentum := []float32{1e-5, 1e-3, 0.1}[i%3], []float32{0.1, 0.9, 1, 0}[i%4]
		x, dy, gamma, beta := normal(rng, shape...), normal(rng, shape...), normal(rng, c), normal(rng, c)
		if i%2 == 1 { // far from 0, where a mean of squares cancels
			for j := range x.v {
				x.v[j] += 30
			}
		}
		what := fmt.Sprintf("%v, eps %v, momentum %v", shape, eps, momentum)
		s.compare(t, call{
			what: what, in: []array{x, gamma, beta}, rel: s.opt.Sum, unit: 3,
			out: []array{empty(shape...), empty(c), empty(c), normal(rng, c), positive(rng, c)},
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.BatchNorm(out[0], out[1], out[2], out[3], out[4], in[0], in[1], in[2], eps, momentum)
			},
		})
		mean, invStd := statistics(x, eps)
		s.gradients(t, call{
			what: what + " gradient", in: []array{dy, x, gamma, mean, invStd}, rel: s.opt.Sum, unit: 3,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.BatchNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4])
			},
		}, empty(shape...), empty(c), empty(c))
	}
}

func (s *suite) frozenNorm(t *testing.T) {
	rng := s.rng(t)
	shapes := append(normShapes(rng), []int{1, 1}, []int{1, 9}, []int{1, 3, 1, 1})
	for i, shape := range shapes {
		c, eps := shape[1], []float32{1e-5, 1e-3, 0.1}[i%3]
		x, dy, gamma, beta := normal(rng, shape...), normal(rng, shape...), normal(rng, c), normal(rng, c)
		mean, variance := normal(rng, c), positive(rng, c)
		what := fmt.Sprintf("%v, eps %v", shape, eps)
		s.compare(t, call{
			what: what, in: []array{x, gamma, beta, mean, variance}, out: []array{empty(shape...)}, rel: s.opt.Sum, unit: 1,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.FrozenNorm(out[0], in[0], in[1], in[2], in[3], in[4], eps)
			},
		})
		s.gradients(t, call{
			what: what + " gradient", in: []array{dy, x, gamma, mean, variance}, rel: s.opt.Sum, unit: 1,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.FrozenNormGrad(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], eps)
			},
		}, empty(shape...), empty(c), empty(c))
	}
}

func (s *suite) rowNorm(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range [][]int{{1, 1}, {1, 70}, {33, 1}, {7, 16}, {20, 33}, {5, 513}, {64, 2}} {
		for _, spec := range []engine.RowNormSpec{
			{Scale: 1, Eps: 1e-12}, {Scale: 1, Eps: 1e-12, Smooth: true}, {Scale: 11.3, Eps: 1e-12}, {Scale: 2, Eps: 0.5, Smooth: true},
			{Scale: 1, Eps: 1e6}, {Scale: 1, Eps: 0}, {Scale: 1, Eps: 0, Smooth: true},
		} {
			for _, scale := range []float64{1e-30, 1e-15, 1, 1e15, 1e30} {
				x, dy := scaled(rng, scale, shape...), normal(rng, shape...)
				s.compareRowNorm(t, fmt.Sprintf("%v at scale %v, %+v", shape, scale, spec), x, dy, spec)
			}
			if spec.Eps == 0 {
				continue // the direction of a zero row is undefined
			}
			zero := normal(rng, shape...)
			clear(zero.v[:shape[1]])
			s.compareRowNorm(t, fmt.Sprintf("%v with a zero row, %+v", shape, spec), zero, normal(rng, shape...), spec)
		}
	}
}

func (s *suite) compareRowNorm(t *testing.T, what string, x, dy array, spec engine.RowNormSpec) {
	t.Helper()
	s.compare(t, call{
		what: what, in: []array{x}, out: []array{empty(x.shape...)}, rel: s.opt.Sum,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.RowNorm(out[0], in[0], spec) },
	})
	s.compare(t, call{
		what: what + ", gradient", in: []array{dy, x}, out: []array{empty(x.shape...)}, rel: s.opt.Sum,
		unit: rowNormGradientSize(x, dy, spec),
		f:    func(e engine.Engine, out, in []engine.Tensor) error { return e.RowNormGrad(out[0], in[0], in[1], spec) },
	})
}
