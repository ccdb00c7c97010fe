package enginetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// nonFinite plants NaN and infinities. They must come out where the definition
// puts them; in convolutions, where a transformed tile shares its sums, they may
// spread, but not vanish.
func (s *suite) nonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			s.badElements(t, float32(bad))
			s.badProducts(t, float32(bad))
			s.badNorms(t, float32(bad))
			s.badPools(t, float32(bad))
			s.badTokens(t, float32(bad))
		})
	}
	s.badRows(t)
}

// plant puts bad at a few places of a, far enough apart.
func plant(a array, bad float32, at ...int) array {
	for _, i := range at {
		a.v[i%len(a.v)] = bad
	}
	return a
}

func (s *suite) badElements(t *testing.T, bad float32) {
	rng := s.rng(t)
	for _, n := range []int{1, 5, 16, 37} {
		x := plant(normal(rng, n), bad, 0, n-1)
		y := normal(rng, n)
		run := func(what string, out array, in []array, f func(e engine.Engine, out, in []engine.Tensor) error) {
			t.Helper()
			s.compare(t, call{what: fmt.Sprintf("%s of %d", what, n), out: []array{out}, in: in, f: f, rel: s.opt.Elementwise})
		}
		run("add", empty(n), []array{x, y}, func(e engine.Engine, out, in []engine.Tensor) error { return e.Add(out[0], in[0], in[1]) })
		run("scale", empty(n), []array{x}, func(e engine.Engine, out, in []engine.Tensor) error { return e.Scale(out[0], in[0], -2) })
		run("scale by 0", empty(n), []array{x}, func(e engine.Engine, out, in []engine.Tensor) error { return e.Scale(out[0], in[0], 0) })
		run("relu", empty(n), []array{x}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU(out[0], in[0]) })
		run("relu6", empty(n), []array{x}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6(out[0], in[0]) })
		run("relu6 gradient of a bad dy", empty(n), []array{x, y}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6Grad(out[0], in[0], in[1]) })
		run("relu6 gradient of a bad y", empty(n), []array{x, y}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLU6Grad(out[0], in[1], in[0]) })
		run("relu gradient of a bad dy", empty(n), []array{x, y}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLUGrad(out[0], in[0], in[1]) })
		run("relu gradient of a bad y", empty(n), []array{x, y}, func(e engine.Engine, out, in []engine.Tensor) error { return e.ReLUGrad(out[0], in[1], in[0]) })
		run("clamp", x, nil, func(e engine.Engine, out, _ []engine.Tensor) error { return e.Clamp(out, 1.5) })
	}
}

func (s *suite) badProducts(t *testing.T, bad float32) {
	rng := s.rng(t)
	a, b := plant(normal(rng, 19, 21), bad, 3*21+4, 18*21+20), normal(rng, 21, 18)
	s.compare(t, call{what: "matmul, a", out: []array{empty(19, 18)}, in: []array{a, b}, rel: s.opt.Sum, unit: 5,
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.MatMul(out[0], in[0], in[1], false, false, false)
		}})
	a, b = normal(rng, 19, 21), plant(normal(rng, 21, 18), bad, 2, 20*18+17)
	s.compare(t, call{what: "matmul, b", out: []array{empty(19, 18)}, in: []array{a, b}, rel: s.opt.Sum, unit: 5,
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.MatMul(out[0], in[0], in[1], false, false, false)
		}})
	relus := []bool{false}
	if bad != bad { // -Inf becomes 0, and only NaN must stay
		relus = append(relus, true)
	}
	for _, g := range usual() {
		if g.products() > 300_000 {
			continue
		}
		x, w, dy := normal(rng, g.x()...), normal(rng, g.weights()...), normal(rng, g.y()...)
		badX := plant(normal(rng, g.x()...), bad, rng.IntN(volume(g.x())))
		badDy := plant(normal(rng, g.y()...), bad, rng.IntN(volume(g.y())))
		for _, relu := range relus {
			s.compare(t, call{what: fmt.Sprintf("%v, relu %v", g, relu), out: []array{empty(g.y()...)}, in: []array{badX, w}, lenient: true,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.Conv(out[0], in[0], in[1], g.spec, engine.Epilogue{ReLU: relu})
				}})
		}
		s.compare(t, call{what: g.String() + ", gradient of the input", out: []array{empty(g.x()...)}, in: []array{badDy, w}, lenient: true,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.ConvGradInput(out[0], in[0], in[1], g.spec)
			}})
		for i, in := range [][]array{{badDy, x}, {dy, badX}} {
			s.compare(t, call{what: fmt.Sprintf("%v, gradient of the weights %d", g, i), out: []array{empty(g.weights()...), empty(g.k)}, in: in, lenient: true,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.ConvGradWeights(out[0], out[1], in[0], in[1], g.spec)
				}})
		}
	}
}

// badNorms spoils one channel, and one row; the others stay clean.
func (s *suite) badNorms(t *testing.T, bad float32) {
	rng := s.rng(t)
	const n, c = 3, 5
	for _, cells := range []int{1, 6} {
		shape := []int{n, c}
		if cells > 1 {
			shape = []int{n, c, 2, 3}
		}
		x := plant(normal(rng, shape...), bad, (c+2)*cells)
		s.compare(t, call{what: fmt.Sprintf("batch norm %v", shape), in: []array{x, normal(rng, c), normal(rng, c)}, rel: s.opt.Sum, unit: 3, lenient: bad == bad,
			out: []array{empty(shape...), empty(c), empty(c), normal(rng, c), positive(rng, c)},
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.BatchNorm(out[0], out[1], out[2], out[3], out[4], in[0], in[1], in[2], 1e-3, 0.1)
			}})
		s.compare(t, call{what: fmt.Sprintf("frozen norm %v", shape), in: []array{x, normal(rng, c), normal(rng, c), normal(rng, c), positive(rng, c)},
			out: []array{empty(shape...)}, rel: s.opt.Sum,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.FrozenNorm(out[0], in[0], in[1], in[2], in[3], in[4], 1e-3)
			}})
	}
	if bad == bad {
		return // the direction of an infinite row is undefined
	}
	for _, h := range []int{1, 7, 40} {
		x := plant(normal(rng, 4, h), bad, h)
		for _, smooth := range []bool{false, true} {
			s.compare(t, call{what: fmt.Sprintf("row norm of %d, smooth %v", h, smooth), in: []array{x}, out: []array{empty(4, h)}, rel: s.opt.Sum,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.RowNorm(out[0], in[0], engine.RowNormSpec{Scale: 1, Eps: 1e-12, Smooth: smooth})
				}})
		}
	}
}

func (s *suite) badPools(t *testing.T, bad float32) {
	rng := s.rng(t)
	for _, g := range poolShapes(rng, 10) {
		x := normal(rng, g.x()...)
		for range 3 {
			plant(x, bad, rng.IntN(len(x.v)))
		}
		s.compare(t, call{what: "maximum, " + g.String(), out: []array{empty(g.y()...)}, in: []array{x},
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.MaxPool(out[0], in[0], g.spec) }})
		s.compare(t, call{what: "average, " + g.String(), out: []array{empty(g.y()...)}, in: []array{x}, rel: s.opt.Sum, unit: 0.1,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.AvgPool(out[0], in[0], g.spec) }})
		s.compare(t, call{what: "global maximum, " + g.String(), out: []array{empty(g.n, g.c)}, in: []array{x},
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GlobalMax(out[0], in[0]) }})
		s.compare(t, call{what: "global average, " + g.String(), out: []array{empty(g.n, g.c)}, in: []array{x}, rel: s.opt.Sum, unit: 0.1,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GlobalAvg(out[0], in[0]) }})
	}
}

// badRows has one NaN coordinate on each side: its whole row and column of the
// matrix is NaN, and no other element.
func (s *suite) badRows(t *testing.T) {
	rng := s.rng(t)
	nan := float32(math.NaN())
	for _, m := range metrics() {
		for _, h := range []int{1, 9, 32} {
			a, b := plant(normal(rng, 4, h), nan, 2*h+h/2), plant(normal(rng, 5, h), nan, h)
			d := empty(4, 5)
			s.compare(t, call{what: fmt.Sprintf("%v, h %d", m, h), out: []array{d}, in: []array{a, b}, rel: s.opt.Sum, unit: 1,
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Pairwise(out[0], in[0], in[1], m) }})
			groups := plant(normal(rng, 6, h), nan, 2*h+h/2)
			s.compare(t, call{what: fmt.Sprintf("%v, h %d, groups", m, h), out: []array{empty(6, 2)}, in: []array{groups}, rel: s.opt.Sum, unit: 1,
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.PairwiseGroups(out[0], in[0], m) }})
			d = plant(normal(rng, 4, 5), nan, 10, 11, 12, 13, 14, 1, 6, 16)
			s.compare(t, call{what: fmt.Sprintf("%v, h %d, gradient", m, h), out: []array{empty(4, h), empty(5, h)}, in: []array{normal(rng, 4, 5), d, a, b}, lenient: true,
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.PairwiseGrad(out[0], out[1], in[0], in[1], in[2], in[3], m)
				}})
		}
	}
}
