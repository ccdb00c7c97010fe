//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

var normShapes = []image{{2, 1, 1, 1}, {3, 5, 4, 3}, {2, 33, 7, 5}, {1, 70, 13, 17}, {9, 40, 1, 1}, {2, 24, 5, 3}}

func (b *bench) parts(rows int64, c int) array {
	count, _ := kernels.Parts(rows, c)
	return b.empty(kernels.F32, count*c)
}

// total is the two launches of a sum over rows.
func (b *bench) total(rows int64, c int, by float32, l func(part kernels.Ptr) kernels.Launch) array {
	b.t.Helper()
	part, out := b.parts(rows, c), b.empty(kernels.F32, c)
	count, _ := kernels.Parts(rows, c)
	b.run(l(part.Ptr()), kernels.Combine(count, c, out.Ptr(), part.Ptr(), by))
	return out
}

// totals are two sums of one pass: of products, and plain ones, which have the bits
// that they have by themselves, as the products have without them.
func (b *bench) totals(rows int64, c int, both func(part, plain kernels.Ptr) kernels.Launch, alone func(part kernels.Ptr) kernels.Launch) (products, plain array) {
	b.t.Helper()
	part, plain := b.parts(rows, c), b.empty(kernels.F32, c)
	count, _ := kernels.Parts(rows, c)
	products = b.total(rows, c, 1, func(p kernels.Ptr) kernels.Launch { return both(p, part.Ptr()) })
	b.run(kernels.Combine(count, c, plain.Ptr(), part.Ptr(), 1))
	b.same("plain sums", kernels.F32, plain.down(), b.total(rows, c, 1, alone).down(), 0)
	b.same("products alone", kernels.F32, b.total(rows, c, 1, func(p kernels.Ptr) kernels.Launch { return both(p, 0) }).down(), products.down(), 0)
	return products, plain
}

func TestBatchNormKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range normShapes {
			b := newBench(t)
			n, rows := int64(s.size()), int64(s.n*s.h*s.w)
			x, dy := b.normal(s.size()), b.normal(s.size())
			for i := range x {
				x[i] += 2
			}
			gamma, beta := b.normal(s.c), b.normal(s.c)
			rm, rv := b.normal(s.c), b.normal(s.c)
			dX, dDy := b.up(typ, x), b.up(typ, dy)
			dG, dB, dRM, dRV := b.up(kernels.F32, gamma), b.up(kernels.F32, beta), b.up(kernels.F32, rm), b.up(kernels.F32, rv)
			inv := b.empty(kernels.F32, s.c)
			each := 1 / float32(rows)
			mean := b.total(rows, s.c, each, func(p kernels.Ptr) kernels.Launch { return kernels.ChannelSums(typ, rows, s.c, p, dX.Ptr()) })
			variance := b.total(rows, s.c, each, func(p kernels.Ptr) kernels.Launch {
				return kernels.ChannelSquares(typ, rows, s.c, p, dX.Ptr(), mean.Ptr())
			})
			y := b.empty(typ, s.size())
			b.run(kernels.BatchStats(s.c, inv.Ptr(), dRM.Ptr(), dRV.Ptr(), mean.Ptr(), variance.Ptr(), 1e-3, .1, float32(rows)/float32(rows-1)),
				kernels.ChannelNorm(typ, n, s.c, y.Ptr(), dX.Ptr(), mean.Ptr(), inv.Ptr(), dG.Ptr(), dB.Ptr()))

			shape := []int{s.n, s.c, s.h, s.w}
			tx, tdy := b.tensor(s.planar(x), shape...), b.tensor(s.planar(dy), shape...)
			tg, tb, trm, trv := b.tensor(gamma, s.c), b.tensor(beta, s.c), b.tensor(rm, s.c), b.tensor(rv, s.c)
			ty, tm, ti := b.tensor(nil, shape...), b.tensor(nil, s.c), b.tensor(nil, s.c)
			b.must(b.ref.BatchNorm(ty, tm, ti, trm, trv, tx, tg, tb, 1e-3, .1))
			b.same("y", typ, s.planar(y.down()), b.read(ty), 5e-6)
			b.same("mean", kernels.F32, mean.down(), b.read(tm), 2e-6)
			b.same("running mean", kernels.F32, dRM.down(), b.read(trm), 2e-6)
			b.same("running variance", kernels.F32, dRV.down(), b.read(trv), 5e-6)

			dgamma, dbeta := b.totals(rows, s.c, func(p, plain kernels.Ptr) kernels.Launch {
				return kernels.ChannelProducts(typ, rows, s.c, p, plain, dDy.Ptr(), dX.Ptr(), mean.Ptr(), inv.Ptr())
			}, func(p kernels.Ptr) kernels.Launch { return kernels.ChannelSums(typ, rows, s.c, p, dDy.Ptr()) })
			dx := b.empty(typ, s.size())
			b.run(kernels.BatchNormDX(typ, n, s.c, dx.Ptr(), dDy.Ptr(), dX.Ptr(), dG.Ptr(), mean.Ptr(), inv.Ptr(), dbeta.Ptr(), dgamma.Ptr(), each))
			tdx, tdg, tdb := b.tensor(nil, shape...), b.tensor(nil, s.c), b.tensor(nil, s.c)
			b.must(b.ref.BatchNormGrad(tdx, tdg, tdb, tdy, tx, tg, tm, ti))
			b.same("dbeta", kernels.F32, dbeta.down(), b.read(tdb), 5e-6)
			b.same("dgamma", kernels.F32, dgamma.down(), b.read(tdg), 2e-5)
			if rows > 2 { // of two values dx cancels to nothing
				b.same("dx", typ, s.planar(dx.down()), b.read(tdx), 2e-5)
			}
		}
	}
}

func TestChannelAffineIsTheEpilogueOfAConvolution(t *testing.T) {
	for _, typ := range bothTypes {
		for _, c := range []int{5, 8, 24} {
			b := newBench(t)
			n := int64(600 * c)
			x, res, scale, shift := b.normal(int(n)), b.normal(int(n)), b.normal(c), b.normal(c)
			dx, dr := b.up(typ, x), b.up(typ, res)
			ds, dh := b.up(kernels.F32, scale).Ptr(), b.up(kernels.F32, shift).Ptr()
			for mask := range 24 {
				ceiling := [3]float32{0, float32(math.Inf(1)), 1.25}[mask/8]
				want := make([]float32, n)
				pick := func(bit int, p kernels.Ptr) kernels.Ptr {
					if mask>>bit&1 == 0 {
						return 0
					}
					return p
				}
				for i, v := range x {
					if mask&1 != 0 {
						v *= scale[i%c]
					}
					if mask&2 != 0 {
						v += shift[i%c]
					}
					if mask&4 != 0 {
						v += res[i]
					}
					if ceiling != 0 {
						v = min(max(v, 0), ceiling)
					}
					want[i] = v
				}
				y := b.empty(typ, int(n))
				b.run(kernels.ChannelAffine(typ, n, c, y.Ptr(), dx.Ptr(), pick(0, ds), pick(1, dh), pick(2, dr.Ptr()), ceiling))
				b.same("epilogue", typ, y.down(), want, 1e-6)
			}
		}
	}
}

func TestLayerNormKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, shape := range [][2]int{{1, 1}, {3, 5}, {70, 384}, {2, 1000}, {9, 1024}, {3, 1032}, {8, 40}, {5, 1027}, {300, 40}, {45, 33}, {2, 2600}} {
			b := newBench(t)
			rows, d := shape[0], shape[1]
			x, dy, gamma, beta := b.normal(rows*d), b.normal(rows*d), b.normal(d), b.normal(d)
			dX, dDy, dG, dB := b.up(typ, x), b.up(typ, dy), b.up(kernels.F32, gamma), b.up(kernels.F32, beta)
			y, dx, mean, inv := b.empty(typ, rows*d), b.empty(typ, rows*d), b.empty(kernels.F32, rows), b.empty(kernels.F32, rows)
			b.run(kernels.LayerNorm(typ, rows, d, y.Ptr(), mean.Ptr(), inv.Ptr(), dX.Ptr(), dG.Ptr(), dB.Ptr(), 1e-6))
			parts, _ := kernels.NormParts(rows)
			grad := func(to kernels.NormGrads, more kernels.Ptr) {
				b.t.Helper()
				b.run(kernels.LayerNormGrad(typ, rows, d, to, more, dDy.Ptr(), dX.Ptr(), dG.Ptr(), mean.Ptr(), inv.Ptr()))
			}
			total := func(part array) array {
				out := b.empty(kernels.F32, d)
				b.run(kernels.Combine(parts, d, out.Ptr(), part.Ptr(), 1))
				return out
			}
			part := func() array { return b.empty(kernels.F32, parts*d) }
			pg, pb, ps := part(), part(), part()
			grad(kernels.NormGrads{DX: dx.Ptr(), DGamma: pg.Ptr(), DBeta: pb.Ptr(), Sums: ps.Ptr()}, 0)
			dgamma, dbeta, sums := total(pg), total(pb), total(ps)
			// Each by itself has the same bits.
			again, og, ob := b.empty(typ, rows*d), part(), part()
			grad(kernels.NormGrads{DX: again.Ptr()}, 0)
			grad(kernels.NormGrads{DGamma: og.Ptr()}, 0)
			grad(kernels.NormGrads{DBeta: ob.Ptr()}, 0)
			b.same("dx alone", kernels.F32, again.down(), dx.down(), 0)
			b.same("dgamma alone", kernels.F32, total(og).down(), dgamma.down(), 0)
			b.same("dbeta alone", kernels.F32, total(ob).down(), dbeta.down(), 0)
			// With more, over which dx is written.
			more := b.normal(rows * d)
			over, so := b.up(typ, more), part()
			grad(kernels.NormGrads{DX: over.Ptr(), Sums: so.Ptr()}, over.Ptr())
			added := total(so).down()
			tx, tdy, tg, tb := b.tensor(x, rows, d), b.tensor(dy, rows, d), b.tensor(gamma, d), b.tensor(beta, d)
			ty, tm, ti, tdx, tdg, tdb := b.tensor(nil, rows, d), b.tensor(nil, rows), b.tensor(nil, rows), b.tensor(nil, rows, d), b.tensor(nil, d), b.tensor(nil, d)
			b.must(b.ref.LayerNorm(ty, tm, ti, tx, tg, tb, 1e-6))
			b.must(b.ref.LayerNormGrad(tdx, tdg, tdb, tdy, tx, tg, tm, ti))
			b.same("y", typ, y.down(), b.read(ty), 5e-6)
			b.same("mean", kernels.F32, mean.down(), b.read(tm), 5e-6)
			b.same("inv", kernels.F32, inv.down(), b.read(ti), 5e-6)
			b.same("dbeta", kernels.F32, dbeta.down(), b.read(tdb), 5e-6)
			b.same("dgamma", kernels.F32, dgamma.down(), b.read(tdg), 1e-5)
			if d == 1 { // one value less its mean is nothing
				continue
			}
			want := b.read(tdx)
			b.same("dx", typ, dx.down(), want, 1e-5)
			column, with := make([]float32, d), make([]float32, d)
			for i, v := range want {
				column[i%d] += v
				with[i%d] += v + more[i]
				more[i] += v
			}
			b.same("sums of dx", kernels.F32, sums.down(), column, 2e-5)
			b.same("dx with more", typ, over.down(), more, 1e-5)
			b.same("sums with more", kernels.F32, added, with, 2e-5)
		}
	}
}
