package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// poolShape pools x (n, c, h, w).
type poolShape struct {
	n, c, h, w int
	spec       engine.PoolSpec
}

func (g poolShape) String() string {
	return fmt.Sprintf("x (%d, %d, %d, %d), %+v", g.n, g.c, g.h, g.w, g.spec)
}

func (g poolShape) x() []int { return []int{g.n, g.c, g.h, g.w} }

func (g poolShape) y() []int {
	ho, wo := g.spec.OutSize(g.h, g.w)
	return []int{g.n, g.c, ho, wo}
}

func poolShapes(rng *rand.Rand, count int) []poolShape {
	sq := engine.SquarePool
	list := []poolShape{
		{2, 5, 16, 15, sq(3, 2, 1, false)}, {2, 5, 16, 15, sq(3, 2, 0, true)}, {1, 70, 7, 7, sq(3, 1, 1, false)}, {1, 3, 9, 8, sq(2, 2, 0, false)},
		{1, 1, 1, 1, sq(1, 1, 0, false)}, {2, 3, 1, 1, sq(3, 1, 1, true)}, {2, 3, 7, 5, sq(1, 3, 0, true)}, {1, 3, 8, 8, sq(2, 5, 1, true)},
		{1, 4, 7, 7, sq(7, 1, 0, false)}, {1, 2, 5, 6, sq(4, 4, 3, true)},
	}
	for n := len(list) + count; len(list) < n; {
		g := poolShape{between(rng, 1, 3), between(rng, 1, 9), between(rng, 1, 19), between(rng, 1, 19), engine.PoolSpec{
			KernelH: between(rng, 1, 4), KernelW: between(rng, 1, 4), StrideH: between(rng, 1, 5), StrideW: between(rng, 1, 5), Ceil: heads(rng),
		}}
		g.spec.PadH, g.spec.PadW = rng.IntN(g.spec.KernelH), rng.IntN(g.spec.KernelW)
		if y := g.y(); y[2] > 0 && y[3] > 0 {
			list = append(list, g)
		}
	}
	return list
}

func (s *suite) pool(t *testing.T) {
	rng := s.rng(t)
	for _, g := range poolShapes(rng, 50) {
		s.compareMaxPool(t, g, normal(rng, g.x()...), normal(rng, g.y()...))
		x, dy := normal(rng, g.x()...), normal(rng, g.y()...)
		for _, countPad := range []bool{false, true} {
			g.spec.CountPad = countPad
			s.compare(t, call{what: "average, " + g.String(), out: []array{empty(g.y()...)}, in: []array{x}, rel: s.opt.Sum, unit: 0.1,
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.AvgPool(out[0], in[0], g.spec) }})
			s.compare(t, call{what: "average gradient, " + g.String(), out: []array{empty(g.x()...)}, in: []array{dy}, rel: s.opt.Sum, unit: 0.1,
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.AvgPoolGrad(out[0], in[0], g.spec) }})
		}
	}
}

// compareMaxPool wants the maxima exactly.
func (s *suite) compareMaxPool(t *testing.T, g poolShape, x, dy array) {
	t.Helper()
	forward := call{what: "maximum, " + g.String(), out: []array{empty(g.y()...)}, in: []array{x},
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.MaxPool(out[0], in[0], g.spec) }}
	s.compare(t, forward)
	y, err := forward.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	s.compare(t, call{what: "maximum gradient, " + g.String(), out: []array{empty(g.x()...)}, in: []array{dy, x, {g.y(), y[0]}}, rel: s.opt.Elementwise, unit: 1,
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.MaxPoolGrad(out[0], in[0], in[1], in[2], g.spec)
		}})
}

// maxPoolTies has many equal maxima in each window, also windows of -infinity
// only, of which the first cell still gets the gradient.
func (s *suite) maxPoolTies(t *testing.T) {
	rng := s.rng(t)
	for i, g := range poolShapes(rng, 25) {
		x := levels(rng, 1+i%4, g.x()...)
		s.compareMaxPool(t, g, x, normal(rng, g.y()...))
		for j := range x.v {
			x.v[j] = float32(math.Inf(-1))
		}
		s.compareMaxPool(t, g, x, normal(rng, g.y()...))
	}
	for _, shape := range [][]int{{2, 3, 4, 5}, {1, 17, 7, 7}, {2, 2, 1, 1}, {1, 3, 1, 33}} {
		s.compareGlobalMax(t, levels(rng, 3, shape...), normal(rng, shape[:2]...))
	}
}

func (s *suite) globalPool(t *testing.T) {
	rng := s.rng(t)
	shapes := [][]int{{1, 1, 1, 1}, {3, 70, 1, 1}, {2, 64, 7, 7}, {2, 5, 1, 9}, {1, 3, 31, 17}}
	for range 12 {
		shapes = append(shapes, []int{between(rng, 1, 4), between(rng, 1, 70), between(rng, 1, 9), between(rng, 1, 9)})
	}
	for _, shape := range shapes {
		x, dy := normal(rng, shape...), normal(rng, shape[:2]...)
		s.compare(t, call{what: fmt.Sprintf("average of %v", shape), out: []array{empty(dy.shape...)}, in: []array{x}, rel: s.opt.Sum, unit: 0.1,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GlobalAvg(out[0], in[0]) }})
		s.compare(t, call{what: fmt.Sprintf("average of %v, gradient", shape), out: []array{empty(shape...)}, in: []array{dy}, rel: s.opt.Elementwise,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GlobalAvgGrad(out[0], in[0]) }})
		s.compareGlobalMax(t, x, dy)
	}
}

func (s *suite) compareGlobalMax(t *testing.T, x, dy array) {
	t.Helper()
	forward := call{what: fmt.Sprintf("maximum of %v", x.shape), out: []array{empty(dy.shape...)}, in: []array{x},
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.GlobalMax(out[0], in[0]) }}
	s.compare(t, forward)
	y, err := forward.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	s.compare(t, call{what: forward.what + ", gradient", out: []array{empty(x.shape...)}, in: []array{dy, x, {dy.shape, y[0]}},
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.GlobalMaxGrad(out[0], in[0], in[1], in[2])
		}})
}
