//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

func TestElementwiseKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, n := range []int{1, 31, 257, 5000} {
			b := newBench(t)
			x, z := b.normal(n), b.normal(n)
			for i := range x {
				x[i] *= 3 // GELU's bend and both its tails
			}
			x[0] = -40
			dx, dz := b.up(typ, x), b.up(typ, z)
			tx, tz, ty := b.tensor(x, n), b.tensor(z, n), b.tensor(nil, n)
			check := func(what string, rel float64, l func(y kernels.Ptr) kernels.Launch, f func() error) {
				t.Helper()
				y := b.empty(typ, n)
				b.run(l(y.Ptr()))
				b.must(f())
				b.same(what, typ, y.down(), b.read(ty), rel)
			}
			m := int64(n)
			check("add", 1e-7, func(y kernels.Ptr) kernels.Launch { return kernels.Add(typ, m, y, dx.Ptr(), dz.Ptr()) }, func() error { return b.ref.Add(ty, tx, tz) })
			check("scale", 1e-7, func(y kernels.Ptr) kernels.Launch { return kernels.Scale(typ, m, y, dx.Ptr(), -1.7) }, func() error { return b.ref.Scale(ty, tx, -1.7) })
			check("relu", 0, func(y kernels.Ptr) kernels.Launch { return kernels.ReLU(typ, m, y, dx.Ptr()) }, func() error { return b.ref.ReLU(ty, tx) })
			check("relu6", 0, func(y kernels.Ptr) kernels.Launch { return kernels.Bound(typ, m, y, dx.Ptr(), 6) }, func() error { return b.ref.ReLU6(ty, tx) })
			check("relu6 gradient", 0, func(y kernels.Ptr) kernels.Launch { return kernels.BoundGrad(typ, m, y, dx.Ptr(), dz.Ptr(), 6) }, func() error { return b.ref.ReLU6Grad(ty, tx, tz) })
			check("relu gradient", 0, func(y kernels.Ptr) kernels.Launch { return kernels.ReLUGrad(typ, m, y, dx.Ptr(), dz.Ptr()) }, func() error { return b.ref.ReLUGrad(ty, tx, tz) })
			for _, form := range []engine.GELUForm{engine.GELUErf, engine.GELUTanh, engine.GELUQuick} {
				rel := 1e-6
				if form == engine.GELUQuick {
					rel = 5e-6 // at -40, of what float32 leaves of 1.702 x
				}
				check("gelu", rel, func(y kernels.Ptr) kernels.Launch { return kernels.GELU(typ, m, y, dx.Ptr(), int(form)) }, func() error { return b.ref.GELU(ty, tx, form) })
				check("gelu gradient", 2*rel, func(y kernels.Ptr) kernels.Launch { return kernels.GELUGrad(typ, m, y, dz.Ptr(), dx.Ptr(), int(form)) }, func() error { return b.ref.GELUGrad(ty, tz, tx, form) })
			}
		}
	}
}

func TestNarrowRoundsToEvenAndKeepsNaN(t *testing.T) {
	b := newBench(t)
	x := []float32{1, 1.00390625, 1.01171875, -3, 0, float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32}
	want := []float32{1, 1, 1.015625, -3, 0, float32(math.Inf(1)), float32(math.NaN()), float32(math.Inf(1))}
	from, y := b.up(kernels.F32, x), b.empty(kernels.BF16, len(x))
	b.run(kernels.Narrow(kernels.BF16, int64(len(x)), y.Ptr(), from.Ptr()))
	back := b.empty(kernels.F32, len(x))
	b.run(kernels.Widen(kernels.BF16, int64(len(x)), back.Ptr(), y.Ptr()))
	b.same("narrow", kernels.F32, back.down(), want, 0)
}

func TestPlanarOrderIsTurnedBothWays(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range []image{{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 33, 6, 11}, {3, 64, 8, 8}} {
			b := newBench(t)
			x := b.normal(s.size())
			last := b.up(typ, x) // rounds x
			planar := s.planar(x)
			from := b.up(kernels.F32, slices.Clone(planar))
			y, z := b.empty(typ, s.size()), b.empty(kernels.F32, s.size())
			b.run(kernels.FromPlanar(typ, s.n, s.c, s.h*s.w, y.Ptr(), from.Ptr()))
			b.same("from planar", kernels.F32, y.down(), x, 0)
			b.run(kernels.ToPlanar(typ, s.n, s.c, s.h*s.w, z.Ptr(), last.Ptr()))
			b.same("to planar", kernels.F32, z.down(), planar, 0)
		}
	}
}

func TestImageBytesBecomeTheirNumbersInEitherOrder(t *testing.T) {
	const pixels, c = 37, 3
	for _, typ := range bothTypes {
		for _, reverse := range []bool{false, true} {
			b := newBench(t)
			x := make([]byte, pixels*c)
			for i := range x {
				x[i] = byte(b.rng.Uint32())
			}
			from := b.empty(kernels.F32, (len(x)+3)/4)
			copy(from.Bytes(), x)
			numbers := b.normal(256 * c)
			y := b.empty(typ, len(x))
			b.run(kernels.Image(typ, int64(len(x)), c, y.Ptr(), from.Ptr(), b.up(kernels.F32, numbers).Ptr(), reverse))
			want := make([]float32, len(x))
			for i := range want {
				k := i % c
				from := i
				if reverse {
					from = i - k + c - 1 - k
				}
				want[i] = numbers[256*k+int(x[from])]
			}
			b.same("image", typ, y.down(), want, 0)
		}
	}
}

func TestNonFiniteNumbersAreFound(t *testing.T) {
	for _, typ := range bothTypes {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1} {
			b := newBench(t)
			x := b.normal(700)
			x[699] = float32(bad)
			flag := b.up(kernels.F32, []float32{0})
			b.run(kernels.NonFinite(typ, 700, b.up(typ, x).Ptr(), flag.Ptr()))
			if found := math.Float32bits(flag.down()[0]) == 1; found != (bad != 1) {
				t.Errorf("%v with %v: found is %v", typ, bad, found)
			}
		}
	}
}

func TestCopyRowsJoinsAndSlices(t *testing.T) {
	for _, typ := range bothTypes {
		b := newBench(t)
		const rows, c, wide, from = 19, 5, 12, 4
		x := b.normal(rows * c)
		dst := b.up(typ, make([]float32, rows*wide))
		src := b.up(typ, x)
		b.run(kernels.CopyRows(typ, rows, c, dst.Ptr(), wide, from, src.Ptr(), c, 0))
		for i, v := range dst.down() {
			want := float32(0)
			if j := i % wide; j >= from && j < from+c {
				want = x[i/wide*c+j-from]
			}
			if v != want {
				t.Fatalf("%v: %d is %v, want %v", typ, i, v, want)
			}
		}
		back := b.empty(typ, rows*c)
		b.run(kernels.CopyRows(typ, rows, c, back.Ptr(), c, 0, dst.Ptr(), wide, from))
		b.same("slice", kernels.F32, back.down(), x, 0)
	}
}
