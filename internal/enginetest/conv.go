package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// convShape is a convolution of x (n, c, h, w) with k kernels.
type convShape struct {
	n, c, h, w, k int
	spec          engine.ConvSpec
}

func (g convShape) String() string {
	return fmt.Sprintf("x (%d, %d, %d, %d), %d kernels %+v", g.n, g.c, g.h, g.w, g.k, g.spec)
}

// depthwise is a convolution of each of c channels by a kernel of its own.
func depthwise(n, c, h, w int, spec engine.ConvSpec) convShape {
	spec.Depthwise = true
	return convShape{n, c, h, w, c, spec}
}

// terms is the number of products in the sum of one output.
func (g convShape) terms() int { return volume(g.weights()[1:]) }

// uses is the number of products that an input takes part in, per place of the kernel
// all of them.
func (g convShape) uses() int { return g.terms() * g.k / g.c }

func (g convShape) x() []int { return []int{g.n, g.c, g.h, g.w} }
func (g convShape) weights() []int {
	if g.spec.Depthwise {
		return []int{g.k, 1, g.spec.KernelH, g.spec.KernelW}
	}
	return []int{g.k, g.c, g.spec.KernelH, g.spec.KernelW}
}

func (g convShape) y() []int {
	ho, wo := g.spec.OutSize(g.h, g.w)
	return []int{g.n, g.k, ho, wo}
}

// products is the number of multiplications.
func (g convShape) products() int { return g.terms() * volume(g.y()) }

// usual lists the convolutions of real networks, which engines have special
// ways for, and edges: at small sizes.
func usual() []convShape {
	sq := engine.SquareConv
	return []convShape{
		{2, 3, 19, 18, 8, sq(7, 2, 3)},   // stem
		{1, 64, 7, 7, 70, sq(1, 1, 0)},   // bottleneck
		{3, 16, 14, 14, 16, sq(3, 1, 1)}, // plain
		{1, 33, 9, 11, 17, sq(3, 1, 1)},  // plain, odd
		{2, 8, 4, 4, 8, sq(3, 1, 1)},     // one tile of a 4x4 transform
		{2, 5, 6, 7, 9, sq(3, 1, 0)},     // not padded
		{2, 20, 13, 12, 24, sq(3, 2, 1)}, // strided
		{2, 24, 9, 8, 40, sq(1, 2, 0)},   // projection of a residual
		{2, 12, 10, 9, 16, sq(5, 1, 2)},  // inception branch
		{2, 3, 16, 24, 20, sq(8, 8, 0)},  // patches
		{1, 1, 1, 1, 1, sq(1, 1, 0)},     // a product
		{2, 6, 1, 1, 3, sq(3, 1, 1)},     // mostly padding
		{1, 2, 5, 5, 3, sq(1, 3, 0)},     // stride beyond the kernel
		{1, 2, 7, 9, 3, sq(2, 5, 1)},     // the same with padding
		{2, 3, 4, 5, 2, sq(2, 1, 3)},     // padding beyond the kernel
		{1, 70, 5, 5, 1, sq(3, 1, 1)},    // one kernel
		{1, 1, 12, 40, 5, sq(3, 1, 1)},   // one channel
		{1, 9, 6, 8, 7, engine.ConvSpec{KernelH: 1, KernelW: 7, StrideH: 1, StrideW: 1, PadW: 3}},
		{1, 9, 8, 6, 7, engine.ConvSpec{KernelH: 7, KernelW: 1, StrideH: 1, StrideW: 1, PadH: 3}},
		{2, 4, 9, 6, 5, engine.ConvSpec{KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 1, PadH: 0, PadW: 2}},
		{1, 64, 14, 13, 70, sq(3, 1, 1)},
		{3, 33, 28, 27, 34, sq(1, 1, 0)},
		{1, 70, 9, 8, 33, sq(5, 1, 2)}, // a long sum
		{4, 32, 16, 17, 32, sq(3, 2, 1)},
		{5, 7, 2, 3, 66, sq(1, 1, 1)}, // padded 1x1
		// Enough tiles for a fast 3x3: whole ones, cut ones, other paddings, many.
		{8, 16, 8, 8, 16, sq(3, 1, 1)},
		{2, 17, 15, 18, 35, sq(3, 1, 1)},
		{3, 20, 12, 12, 33, engine.ConvSpec{KernelH: 1, KernelW: 7, StrideH: 1, StrideW: 1, PadW: 3}},
		{2, 17, 17, 11, 16, engine.ConvSpec{KernelH: 7, KernelW: 1, StrideH: 1, StrideW: 1, PadH: 3}},
		{5, 33, 8, 8, 20, engine.ConvSpec{KernelH: 3, KernelW: 1, StrideH: 1, StrideW: 1, PadH: 1}},
		{9, 33, 7, 7, 16, sq(3, 1, 1)},
		{3, 20, 13, 14, 18, sq(3, 1, 0)},
		{2, 16, 14, 17, 21, sq(3, 1, 2)},
		{4, 16, 33, 30, 16, sq(3, 1, 1)},
		// More padding at the end.
		{2, 3, 18, 20, 9, engine.SameConv(3, 2, 18, 20)},
		{2, 5, 9, 8, 9, engine.SameConv(5, 2, 9, 8)},
		{2, 17, 14, 16, 20, engine.ConvSpec{KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, EndH: 2, EndW: 1}},
		{2, 6, 5, 4, 7, engine.ConvSpec{KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1, EndH: 1}},
		// One kernel a channel, as in small networks.
		depthwise(2, 5, 28, 27, sq(3, 1, 1)),
		depthwise(1, 3, 56, 50, engine.SameConv(3, 2, 56, 50)),
		depthwise(2, 33, 14, 14, sq(5, 1, 2)),
		depthwise(3, 7, 28, 28, engine.SameConv(5, 2, 28, 28)),
		depthwise(2, 17, 7, 7, sq(5, 1, 2)),
		depthwise(1, 9, 14, 13, sq(7, 1, 3)),
		depthwise(2, 4, 7, 7, sq(7, 1, 3)),
		depthwise(1, 3, 3, 2, sq(7, 1, 3)), // the kernel beyond the map
		depthwise(1, 1, 1, 1, sq(1, 1, 0)),
		depthwise(2, 3, 6, 5, sq(2, 1, 3)), // padding beyond the kernel
		depthwise(2, 3, 9, 8, sq(2, 3, 1)), // stride beyond the kernel
		depthwise(1, 70, 5, 4, engine.ConvSpec{KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 1, PadW: 2, EndH: 1}),
		depthwise(2, 3, 11, 130, sq(3, 1, 1)),
	}
}

// convShapes adds random ones.
func convShapes(rng *rand.Rand, count int) []convShape {
	list := usual()
	for len(list) < len(usual())+count {
		g := convShape{between(rng, 1, 3), between(rng, 1, 70), between(rng, 1, 15), between(rng, 1, 15), between(rng, 1, 70), engine.ConvSpec{
			KernelH: between(rng, 1, 5), KernelW: between(rng, 1, 5), StrideH: between(rng, 1, 4), StrideW: between(rng, 1, 4),
			PadH: between(rng, 0, 3), PadW: between(rng, 0, 3),
		}}
		if heads(rng) {
			g.c = between(rng, 1, 6)
		}
		if heads(rng) {
			g.spec.EndH, g.spec.EndW = between(rng, 0, 2), between(rng, 0, 2)
		}
		if len(list)%3 == 0 {
			g = depthwise(g.n, g.c, g.h, g.w, g.spec)
		}
		if y := g.y(); y[2] > 0 && y[3] > 0 && g.products() < 400_000 {
			list = append(list, g)
		}
	}
	return list
}

func (s *suite) conv(t *testing.T) {
	rng := s.rng(t)
	for _, g := range convShapes(rng, 60) {
		s.compare(t, call{
			what: g.String(), out: []array{empty(g.y()...)}, in: []array{normal(rng, g.x()...), normal(rng, g.weights()...)},
			rel: s.opt.Sum, unit: math.Sqrt(float64(g.terms())),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.Conv(out[0], in[0], in[1], g.spec, engine.Epilogue{})
			},
		})
	}
}

// convEpilogue tries every combination on each kind of convolution.
func (s *suite) convEpilogue(t *testing.T) {
	rng := s.rng(t)
	sq := engine.SquareConv
	for _, g := range []convShape{
		{2, 5, 7, 6, 19, sq(1, 1, 0)}, {2, 4, 7, 6, 17, sq(3, 1, 1)}, {1, 3, 9, 9, 16, sq(3, 2, 1)}, {2, 6, 3, 5, 3, sq(5, 1, 2)}, {3, 2, 1, 1, 1, sq(1, 1, 0)},
		{2, 17, 14, 16, 19, sq(3, 1, 1)}, {1, 4, 8, 10, 17, engine.SameConv(3, 2, 8, 10)}, depthwise(2, 19, 9, 7, sq(3, 1, 1)), depthwise(2, 5, 8, 8, engine.SameConv(5, 2, 8, 8)),
	} {
		for mode := range 24 {
			in := []array{normal(rng, g.x()...), normal(rng, g.weights()...), {}, {}, {}}
			if mode&1 != 0 {
				in[2] = normal(rng, g.k)
			}
			if mode&2 != 0 {
				in[3] = normal(rng, g.k)
			}
			if mode&4 != 0 {
				in[4] = normal(rng, g.y()...)
			}
			relu, ceiling := mode >= 8, [3]float32{0, 0, 1.5}[mode/8]
			s.compare(t, call{
				what: fmt.Sprintf("%v, scale %v, shift %v, residual %v, relu %v to %v", g, mode&1 != 0, mode&2 != 0, mode&4 != 0, relu, ceiling),
				out:  []array{empty(g.y()...)}, in: in, rel: s.opt.Sum, unit: math.Sqrt(float64(g.terms())),
				f: func(e engine.Engine, out, in []engine.Tensor) error {
					return e.Conv(out[0], in[0], in[1], g.spec, engine.Epilogue{Scale: in[2], Shift: in[3], Residual: in[4], ReLU: relu, Ceiling: ceiling})
				},
			})
		}
		s.compare(t, call{
			what: fmt.Sprintf("%v over its residual", g), out: []array{normal(rng, g.y()...)}, in: []array{normal(rng, g.x()...), normal(rng, g.weights()...)},
			rel: s.opt.Sum, unit: math.Sqrt(float64(g.terms())),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.Conv(out[0], in[0], in[1], g.spec, engine.Epilogue{Residual: out[0], ReLU: true})
			},
		})
	}
}

func (s *suite) convGradients(t *testing.T) {
	rng := s.rng(t)
	for _, g := range convShapes(rng, 40) {
		x, w, dy := normal(rng, g.x()...), normal(rng, g.weights()...), normal(rng, g.y()...)
		s.compare(t, call{
			what: g.String() + ", input", out: []array{empty(g.x()...)}, in: []array{dy, w},
			rel: s.opt.Sum, unit: math.Sqrt(float64(g.uses())),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.ConvGradInput(out[0], in[0], in[1], g.spec)
			},
		})
		s.gradients(t, call{
			what: g.String() + ", weights", in: []array{dy, x},
			rel: s.opt.Sum, unit: math.Sqrt(float64(volume(g.y()) / g.k)),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.ConvGradWeights(out[0], out[1], in[0], in[1], g.spec)
			},
		}, empty(g.weights()...), empty(g.k))
	}
}
