//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

var pools = []engine.PoolSpec{
	engine.SquarePool(3, 2, 0, true),
	engine.SquarePool(3, 1, 1, false),
	engine.SquarePool(2, 2, 0, false),
	{KernelH: 4, KernelW: 2, StrideH: 3, StrideW: 1, PadH: 2, PadW: 1, Ceil: true, CountPad: true},
	{KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 4, CountPad: true},
	{KernelH: 200, KernelW: 300, StrideH: 90, StrideW: 150, PadH: 199, PadW: 299}, // places take 16 bits
}

func TestPoolKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, spec := range pools {
			for _, s := range []image{{1, 1, 4, 3}, {2, 5, 9, 8}, {3, 33, 7, 11}, {2, 16, 9, 8}, {1, 40, 7, 11}} {
				b := newBench(t)
				ho, wo := spec.OutSize(s.h, s.w)
				o := image{s.n, s.c, ho, wo}
				win := kernels.Window{N: s.n, H: s.h, W: s.w, C: s.c, HO: ho, WO: wo, KH: spec.KernelH, KW: spec.KernelW,
					SH: spec.StrideH, SW: spec.StrideW, PH: spec.PadH, PW: spec.PadW}
				x, dy := b.normal(s.size()), b.normal(o.size())
				for i := range x {
					x[i] = float32(math.Round(float64(x[i]) * 2)) // ties
				}
				if s.size() > 100 {
					x[17], x[60] = float32(math.NaN()), float32(math.Inf(1))
				}
				dX, dDy := b.up(typ, x), b.up(typ, dy)
				tx, tdy := b.tensor(s.planar(x), s.n, s.c, s.h, s.w), b.tensor(o.planar(dy), s.n, s.c, ho, wo)
				ty, tdx := b.tensor(nil, s.n, s.c, ho, wo), b.tensor(nil, s.n, s.c, s.h, s.w)

				y, dx, places := b.empty(typ, o.size()), b.empty(typ, s.size()), b.empty(kernels.BF16, o.size())
				b.run(kernels.MaxPool(typ, win, y.Ptr(), dX.Ptr()), kernels.MaxPlaces(typ, win, places.Ptr(), dX.Ptr()),
					kernels.MaxPoolGrad(typ, win, dx.Ptr(), dDy.Ptr(), places.Ptr()))
				b.must(b.ref.MaxPool(ty, tx, spec))
				b.same("max pool", typ, o.planar(y.down()), b.read(ty), 0)
				b.must(b.ref.MaxPoolGrad(tdx, tdy, tx, ty, spec))
				b.same("max pool gradient", typ, s.planar(dx.down()), b.read(tdx), 1e-6)

				b.run(kernels.AvgPool(typ, win, spec.CountPad, y.Ptr(), dX.Ptr()), kernels.AvgPoolGrad(typ, win, spec.CountPad, dx.Ptr(), dDy.Ptr()))
				b.must(b.ref.AvgPool(ty, tx, spec))
				b.same("average pool", typ, o.planar(y.down()), b.read(ty), 1e-6)
				b.must(b.ref.AvgPoolGrad(tdx, tdy, spec))
				b.same("average pool gradient", typ, s.planar(dx.down()), b.read(tdx), 1e-6)
			}
		}
	}
}

func TestGlobalPoolKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range []image{{1, 1, 1, 1}, {2, 5, 3, 2}, {2, 33, 7, 7}, {1, 64, 14, 3}} {
			b := newBench(t)
			x, dy := b.normal(s.size()), b.normal(s.n*s.c)
			for i := range x {
				x[i] = float32(math.Round(float64(x[i]) * 2))
			}
			if s.size() > 100 {
				x[70] = float32(math.NaN())
			}
			dX, dDy := b.up(typ, x), b.up(kernels.F32, dy)
			y, place, dx := b.empty(kernels.F32, s.n*s.c), b.empty(kernels.F32, s.n*s.c), b.empty(typ, s.size())
			tx, tdy := b.tensor(s.planar(x), s.n, s.c, s.h, s.w), b.tensor(dy, s.n, s.c)
			ty, tdx := b.tensor(nil, s.n, s.c), b.tensor(nil, s.n, s.c, s.h, s.w)
			hw := s.h * s.w
			b.run(kernels.GlobalAvg(typ, s.n, hw, s.c, y.Ptr(), dX.Ptr()))
			b.must(b.ref.GlobalAvg(ty, tx))
			b.same("average", kernels.F32, y.down(), b.read(ty), 1e-6)
			b.run(kernels.GlobalAvgGrad(typ, s.n, hw, s.c, dx.Ptr(), dDy.Ptr()))
			b.must(b.ref.GlobalAvgGrad(tdx, tdy))
			b.same("average gradient", typ, s.planar(dx.down()), b.read(tdx), 1e-6)
			b.run(kernels.GlobalMax(typ, s.n, hw, s.c, y.Ptr(), place.Ptr(), dX.Ptr()))
			b.must(b.ref.GlobalMax(ty, tx))
			b.same("maximum", kernels.F32, y.down(), b.read(ty), 0)
			for i, p := range unsafe.Slice((*int32)(unsafe.Pointer(&place.Bytes()[0])), s.n*s.c) {
				if p < 0 || int(p) >= hw {
					t.Fatalf("maximum %d is at place %d of %d", i, p, hw)
				}
			}
			b.run(kernels.GlobalMaxGrad(typ, s.n, hw, s.c, dx.Ptr(), dDy.Ptr(), place.Ptr()))
			b.must(b.ref.GlobalMaxGrad(tdx, tdy, tx, ty))
			b.same("maximum gradient", typ, s.planar(dx.down()), b.read(tdx), 0)
		}
	}
}
