//go:build linux

package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

func eachVariantB(b *testing.B, bench func(b *testing.B, e *Engine)) {
	for _, v := range Variants() {
		b.Run(v, func(b *testing.B) { bench(b, openEngine(b, v, 0)) })
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, s := range [][3]int{{1024, 1024, 1024}, {96, 512, 1024}, {32, 100, 512}, {512, 32, 4096}} {
		b.Run(fmt.Sprint(s[0], "x", s[1], "x", s[2]), func(b *testing.B) {
			eachVariantB(b, func(b *testing.B, e *Engine) {
				rng := rand.New(rand.NewPCG(1, 1))
				x, y, z := put(b, e, rng, s[0], s[2]), put(b, e, rng, s[2], s[1]), put(b, e, rng, s[0], s[1])
				timed(b, s[0]*s[1]*s[2], func() error { return e.MatMul(z, x, y, false, false, false) })
			})
		})
	}
}

// BenchmarkConv has the small convnet's second layer and layers of BN-Inception,
// ResNet-50 and Inception-V3.
func BenchmarkConv(b *testing.B) {
	for _, s := range []struct {
		name                string
		images, in, size, k int
		spec                engine.ConvSpec
	}{
		{"small 32-64 3x3 16", 96, 32, 16, 64, engine.SquareConv(3, 1, 1)},
		{"stem 3-64 7x7s2 224", 16, 3, 224, 64, engine.SquareConv(7, 2, 3)},
		{"conv2 64-192 3x3 56", 16, 64, 56, 192, engine.SquareConv(3, 1, 1)},
		{"3a 192-64 1x1 28", 16, 192, 28, 64, engine.SquareConv(1, 1, 0)},
		{"3c 256-64 1x1 28", 16, 256, 28, 64, engine.SquareConv(1, 1, 0)},
		{"4b 576-128 1x1 14", 16, 576, 14, 128, engine.SquareConv(1, 1, 0)},
		{"5a 1024-352 1x1 7", 16, 1024, 7, 352, engine.SquareConv(1, 1, 0)},
		{"resnet 64-256 1x1 56", 16, 64, 56, 256, engine.SquareConv(1, 1, 0)},
		{"3c 64-96 3x3 28", 16, 64, 28, 96, engine.SquareConv(3, 1, 1)},
		{"4e 192-256 3x3s2 14", 16, 192, 14, 256, engine.SquareConv(3, 2, 1)},
		{"6e 192-192 1x7 17", 16, 192, 17, 192, engine.ConvSpec{KernelH: 1, KernelW: 7, StrideH: 1, StrideW: 1, PadW: 3}},
		{"6e 192-192 7x1 17", 16, 192, 17, 192, engine.ConvSpec{KernelH: 7, KernelW: 1, StrideH: 1, StrideW: 1, PadH: 3}},
		{"5b 192-320 3x3 7", 16, 192, 7, 320, engine.SquareConv(3, 1, 1)},
	} {
		b.Run(s.name, func(b *testing.B) {
			eachVariantB(b, func(b *testing.B, e *Engine) {
				rng := rand.New(rand.NewPCG(1, 1))
				ho, wo := s.spec.OutSize(s.size, s.size)
				x, y := put(b, e, rng, s.images, s.in, s.size, s.size), put(b, e, rng, s.images, s.k, ho, wo)
				w, shift := put(b, e, rng, s.k, s.in, s.spec.KernelH, s.spec.KernelW), put(b, e, rng, s.k)
				work := s.images * s.k * ho * wo * s.in * s.spec.KernelH * s.spec.KernelW
				run := func(name string, do func() error) {
					b.Run(name, func(b *testing.B) { timed(b, work, do) })
				}
				run("forward", func() error { return e.Conv(y, x, w, s.spec, engine.Epilogue{Shift: shift, ReLU: true}) })
				run("input", func() error { return e.ConvGradInput(x, y, w, s.spec) })
				run("weights", func() error { return e.ConvGradWeights(w, shift, y, x, s.spec) })
			})
		})
	}
}

// BenchmarkPairwise meets a batch of 256 with itself, and with 256 other rows.
func BenchmarkPairwise(b *testing.B) {
	const n, h = 256, 512
	ms := []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}}
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		for p := 1; p <= 2; p++ {
			ms = append(ms, metric.Metric{Kind: metric.BRM, Restriction: r, P: p, Omega: 0.5})
		}
	}
	for _, m := range ms {
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			eachVariantB(b, func(b *testing.B, e *Engine) {
				rng := rand.New(rand.NewPCG(1, 1))
				x, y := put(b, e, rng, n, h), put(b, e, rng, n, h)
				d, dd, dx, dy := put(b, e, rng, n, n), put(b, e, rng, n, n), put(b, e, rng, n, h), put(b, e, rng, n, h)
				must(b, e.Pairwise(d, x, y, m)) // the gradients need distances
				b.Run("itself forward", func(b *testing.B) { timed(b, n*n*h, func() error { return e.Pairwise(d, x, x, m) }) })
				b.Run("itself gradient", func(b *testing.B) { timed(b, n*n*h, func() error { return e.PairwiseGrad(dx, dx, dd, d, x, x, m) }) })
				b.Run("others forward", func(b *testing.B) { timed(b, n*n*h, func() error { return e.Pairwise(d, x, y, m) }) })
				b.Run("others gradient", func(b *testing.B) { timed(b, n*n*h, func() error { return e.PairwiseGrad(dx, dy, dd, d, x, y, m) }) })
			})
		})
	}
}

// BenchmarkTile measures the kernel alone, the limit of everything else.
func BenchmarkTile(b *testing.B) {
	for _, k := range available() {
		b.Run(k.name, func(b *testing.B) {
			var buf []float32
			x := grow(&buf, k.depth*(k.mr+k.nr)+k.mr*k.nr+64)
			left, right, c := x[:k.depth*k.mr], x[k.depth*k.mr:][:k.depth*k.nr], x[k.depth*(k.mr+k.nr):]
			tile := k.tiles[len(k.tiles)-1][k.mr]
			timed(b, 1000*k.depth*k.mr*k.nr, func() error {
				for range 1000 {
					tile(c, k.nr, c, k.nr, left, k.mr, right, k.nr, k.depth, nil, nil, nil, 0, 0)
				}
				return nil
			})
		})
	}
}

// BenchmarkSmallNet has what surrounds the convolutions of a small convnet; the
// work is the number of values.
func BenchmarkSmallNet(b *testing.B) {
	const n, c, s = 96, 32, 32
	eachVariantB(b, func(b *testing.B, e *Engine) {
		rng := rand.New(rand.NewPCG(1, 1))
		x, y, dx := put(b, e, rng, n, c, s, s), put(b, e, rng, n, c, s, s), put(b, e, rng, n, c, s, s)
		small, g := put(b, e, rng, n, c, s/2, s/2), put(b, e, rng, n, c, s/2, s/2)
		p := make([]engine.Tensor, 8)
		for i := range p {
			p[i] = put(b, e, rng, c)
		}
		spec := engine.SquarePool(2, 2, 0, false)
		b.Run("batch norm", func(b *testing.B) {
			timed(b, n*c*s*s/2, func() error { return e.BatchNorm(y, p[0], p[1], p[2], p[3], x, p[4], p[5], 1e-5, 0.1) })
		})
		b.Run("batch norm gradient", func(b *testing.B) {
			timed(b, n*c*s*s/2, func() error { return e.BatchNormGrad(dx, p[6], p[7], y, x, p[4], p[0], p[1]) })
		})
		b.Run("relu", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.ReLU(y, x) }) })
		b.Run("relu gradient", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.ReLUGrad(dx, x, y) }) })
		b.Run("max pool", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.MaxPool(small, x, spec) }) })
		b.Run("max pool gradient", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.MaxPoolGrad(dx, g, x, small, spec) }) })
		spec3 := engine.SquarePool(3, 1, 1, false)
		b.Run("max pool 3", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.MaxPool(y, x, spec3) }) })
		b.Run("average pool 3", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.AvgPool(y, x, spec3) }) })
		b.Run("average pool 3 gradient", func(b *testing.B) { timed(b, n*c*s*s/2, func() error { return e.AvgPoolGrad(dx, y, spec3) }) })
	})
}

// BenchmarkPool has the poolings of BN-Inception; the work is the number of values.
func BenchmarkPool(b *testing.B) {
	for _, s := range []struct {
		name           string
		channels, size int
		spec           engine.PoolSpec
	}{
		{"112 3x3s2", 64, 112, engine.SquarePool(3, 2, 0, true)},
		{"56 3x3s2", 192, 56, engine.SquarePool(3, 2, 0, true)},
		{"28 3x3", 256, 28, engine.SquarePool(3, 1, 1, true)},
		{"14 3x3", 576, 14, engine.SquarePool(3, 1, 1, true)},
		{"7 3x3", 1024, 7, engine.SquarePool(3, 1, 1, true)},
	} {
		b.Run(s.name, func(b *testing.B) {
			eachVariantB(b, func(b *testing.B, e *Engine) {
				const images = 16
				rng := rand.New(rand.NewPCG(1, 1))
				rows, cols := s.spec.OutSize(s.size, s.size)
				x, dx := put(b, e, rng, images, s.channels, s.size, s.size), put(b, e, rng, images, s.channels, s.size, s.size)
				y, dy := put(b, e, rng, images, s.channels, rows, cols), put(b, e, rng, images, s.channels, rows, cols)
				run := func(name string, do func() error) {
					b.Run(name, func(b *testing.B) { timed(b, images*s.channels*s.size*s.size/2, do) })
				}
				run("max", func() error { return e.MaxPool(y, x, s.spec) })
				run("max gradient", func() error { return e.MaxPoolGrad(dx, dy, x, y, s.spec) })
				run("average", func() error { return e.AvgPool(y, x, s.spec) })
				run("average gradient", func() error { return e.AvgPoolGrad(dx, dy, s.spec) })
			})
		})
	}
}
