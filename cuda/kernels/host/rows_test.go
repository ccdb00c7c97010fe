//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

func TestSoftmaxKernels(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {5, 7}, {3, 1000}} {
		rows, d := shape[0], shape[1]
		b := newBench(t)
		x, dy := b.normal(rows*d), b.normal(rows*d)
		for i := range x {
			x[i] = x[i]*2 + 300
		}
		dX, dDy := b.up(kernels.F32, x), b.up(kernels.F32, dy)
		tx, tdy, ty, tdx := b.tensor(x, rows, d), b.tensor(dy, rows, d), b.tensor(nil, rows, d), b.tensor(nil, rows, d)
		for _, logarithmic := range []bool{false, true} {
			y, dx := b.empty(kernels.F32, rows*d), b.empty(kernels.F32, rows*d)
			b.run(kernels.Softmax(rows, d, y.Ptr(), dX.Ptr(), logarithmic), kernels.SoftmaxGrad(rows, d, dx.Ptr(), dDy.Ptr(), y.Ptr(), logarithmic))
			if logarithmic {
				b.must(b.ref.LogSoftmax(ty, tx))
				b.must(b.ref.LogSoftmaxGrad(tdx, tdy, ty))
			} else {
				b.must(b.ref.Softmax(ty, tx))
				b.must(b.ref.SoftmaxGrad(tdx, tdy, ty))
			}
			b.same("softmax", kernels.F32, y.down(), b.read(ty), 2e-6)
			if d > 1 {
				b.same("softmax gradient", kernels.F32, dx.down(), b.read(tdx), 5e-6)
			}
		}
	}
}

func TestRowNormKernelsAtEveryScale(t *testing.T) {
	for _, size := range []float32{1, 1e-25, 1e25} {
		for _, spec := range []engine.RowNormSpec{{Scale: 3, Eps: 1e-12}, {Scale: 1, Eps: .5}, {Scale: 2, Eps: .01, Smooth: true}} {
			const rows, h = 5, 130
			b := newBench(t)
			x, dy := b.normal(rows*h), b.normal(rows*h)
			for i := range x {
				x[i] *= size
			}
			clear(x[:h])
			y, dx := b.empty(kernels.F32, rows*h), b.empty(kernels.F32, rows*h)
			dX, dDy := b.up(kernels.F32, x), b.up(kernels.F32, dy)
			b.run(kernels.RowNorm(rows, h, y.Ptr(), dX.Ptr(), spec.Scale, spec.Eps, spec.Smooth),
				kernels.RowNormGrad(rows, h, dx.Ptr(), dDy.Ptr(), dX.Ptr(), spec.Scale, spec.Eps, spec.Smooth))
			tx, tdy, ty, tdx := b.tensor(x, rows, h), b.tensor(dy, rows, h), b.tensor(nil, rows, h), b.tensor(nil, rows, h)
			b.must(b.ref.RowNorm(ty, tx, spec))
			b.must(b.ref.RowNormGrad(tdx, tdy, tx, spec))
			b.same("row norm", kernels.F32, y.down(), b.read(ty), 2e-6)
			b.same("row norm gradient", kernels.F32, dx.down(), b.read(tdx), 5e-6)
		}
	}
}

func TestAttentionKernels(t *testing.T) {
	for _, typ := range bothTypes {
		for _, h := range []kernels.Heads{
			{Batch: 1, Tokens: 1, Heads: 1, Size: 1, Scale: 1},
			{Batch: 2, Tokens: 7, Heads: 2, Size: 5, Scale: .4},
			{Batch: 1, Tokens: 70, Heads: 3, Size: 64, Scale: .125},
			{Batch: 2, Tokens: 33, Heads: 1, Size: 32, Scale: .2},
			{Batch: 1, Tokens: 19, Heads: 2, Size: 70, Scale: .1},
			{Batch: 1, Tokens: 9, Heads: 1, Size: 256, Scale: .06},
		} {
			b := newBench(t)
			d := h.Heads * h.Size
			n := h.Batch * h.Tokens * d
			qkv, dy := b.normal(3*n), b.normal(n)
			dQ, dDy := b.up(typ, qkv), b.up(typ, dy)
			y, dqkv := b.empty(typ, n), b.empty(typ, 3*n)
			logs, delta := b.empty(kernels.F32, h.Batch*h.Heads*h.Tokens), b.empty(kernels.F32, h.Batch*h.Heads*h.Tokens)
			b.run(kernels.Attention(typ, h, y.Ptr(), logs.Ptr(), dQ.Ptr()))
			b.run(kernels.AttentionGrad(typ, h, dqkv.Ptr(), delta.Ptr(), dDy.Ptr(), y.Ptr(), logs.Ptr(), dQ.Ptr())...)
			spec := engine.AttentionSpec{Heads: h.Heads, Scale: h.Scale}
			tq, tdy := b.tensor(qkv, h.Batch, h.Tokens, 3*d), b.tensor(dy, h.Batch, h.Tokens, d)
			ty, tl, tdq := b.tensor(nil, h.Batch, h.Tokens, d), b.tensor(nil, h.Batch, h.Heads, h.Tokens), b.tensor(nil, h.Batch, h.Tokens, 3*d)
			b.must(b.ref.Attention(ty, tl, tq, spec))
			b.must(b.ref.AttentionGrad(tdq, tdy, ty, tl, tq, spec))
			rel := 5e-6
			if typ == kernels.BF16 {
				rel = 1e-2 // y was rounded before the gradient used it
			}
			b.same("y", typ, y.down(), b.read(ty), 5e-6)
			b.same("log sum", kernels.F32, logs.down(), b.read(tl), 5e-6)
			b.same("gradient", typ, dqkv.down(), b.read(tdq), rel)
		}
	}
}

func TestTokenKernels(t *testing.T) {
	for _, typ := range bothTypes {
		const batch, prefix, h, w, d = 3, 2, 3, 5, 33
		b := newBench(t)
		s := image{batch, d, h, w}
		area := h * w
		total := (prefix + area) * d
		x, first, pos, dy := b.normal(s.size()), b.normal(prefix*d), b.normal(total), b.normal(batch*total)
		y := b.empty(typ, batch*total)
		dX, dDy := b.up(typ, x), b.up(typ, dy)
		b.run(kernels.Tokens(typ, batch, prefix, area, d, y.Ptr(), dX.Ptr(), b.up(kernels.F32, first).Ptr(), b.up(kernels.F32, pos).Ptr()))
		tx, tf, tp := b.tensor(s.planar(x), batch, d, h, w), b.tensor(first, 1, prefix, d), b.tensor(pos, 1, prefix+area, d)
		ty, tdy := b.tensor(nil, batch, prefix+area, d), b.tensor(dy, batch, prefix+area, d)
		b.must(b.ref.Tokens(ty, tx, tf, tp))
		b.same("tokens", typ, y.down(), b.read(ty), 1e-6)
		dx, df, dp := b.empty(typ, s.size()), b.empty(kernels.F32, prefix*d), b.empty(kernels.F32, total)
		b.run(kernels.BatchSum(typ, int64(prefix*d), batch, int64(total), 0, df.Ptr(), dDy.Ptr()),
			kernels.BatchSum(typ, int64(total), batch, int64(total), 0, dp.Ptr(), dDy.Ptr()),
			kernels.CopyRows(typ, batch, int64(area*d), dx.Ptr(), int64(area*d), 0, dDy.Ptr(), int64(total), prefix*d))
		tdx, tdf, tdp := b.tensor(nil, batch, d, h, w), b.tensor(nil, 1, prefix, d), b.tensor(nil, 1, prefix+area, d)
		b.must(b.ref.TokensGrad(tdx, tdf, tdp, tdy))
		b.same("dx", typ, s.planar(dx.down()), b.read(tdx), 0)
		b.same("dprefix", kernels.F32, df.down(), b.read(tdf), 1e-6)
		b.same("dpos", kernels.F32, dp.down(), b.read(tdp), 1e-6)
	}
}

func TestUnitRowKernel(t *testing.T) {
	for _, size := range []float32{1, 1e-25, 1e25} {
		const rows, h = 4, 77
		b := newBench(t)
		x := b.normal(rows * h)
		for i := range x {
			x[i] *= size
		}
		clear(x[:h])
		y, sizes := b.empty(kernels.F32, rows*h), b.empty(kernels.F32, rows)
		b.run(kernels.UnitRows(rows, h, y.Ptr(), sizes.Ptr(), b.up(kernels.F32, x).Ptr()))
		m := metric.Metric{Kind: metric.Lorentz, Curvature: 1}
		want, lengths := make([]float32, rows*h), make([]float32, rows)
		row := make([]float64, h)
		for i := range rows {
			lengths[i] = float32(m.ChordRow(row, x[i*h:(i+1)*h]))
			for j, v := range row {
				want[i*h+j] = float32(v)
			}
		}
		b.same("rows", kernels.F32, y.down(), want, 1e-6)
		b.same("sizes", kernels.F32, sizes.down(), lengths, 1e-6)
	}
}
