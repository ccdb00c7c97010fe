package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
)

// Mix sets y[i] = sum over j of op(s)[i][j] x[j], a product in full precision.
func (e *Engine) Mix(y, s, x engine.Tensor, trans bool) error {
	a := e.args("mix")
	in, out := a.any("x", x), a.any("y", y)
	a.same(out, in)
	a.check(a.err != nil || len(in.shape) >= 2, "%v, want two axes or more", in)
	if a.err != nil {
		return a.err
	}
	rows, width := rowsOf(in)
	by := a.of("s", s, rows, rows)
	if a.apart(out, in, by); a.err != nil {
		return a.err
	}
	p := product{transA: trans, m: rows, n: width, k: rows, a: a.in(by, device.F32), b: a.in(in, device.F32), precision: device.Full}
	p.c = a.out(out, device.F32)
	a.multiply(p)
	return a.done()
}

// ChannelGrams sets g[c][i][j] to the product of x[i][c] and x[j][c]: a batch of
// products, a channel each, of rows that lie one image apart.
func (e *Engine) ChannelGrams(g, x engine.Tensor) error {
	a := e.args("channel grams")
	in := a.any("x", x)
	a.check(a.err != nil || len(in.shape) >= 2, "%v, want two axes or more", in)
	if a.err != nil {
		return a.err
	}
	n, c := in.shape[0], in.shape[1]
	area := in.size / n / c
	out := a.of("g", g, c, n, n)
	if a.apart(out, in); a.err != nil {
		return a.err
	}
	p := a.hostOrder(in)
	a.gemm(device.Gemm{
		TransB: true, M: n, N: n, K: area, A: p, B: p, C: a.out(out, device.F32), LDA: c * area, LDB: c * area, LDC: n,
		Alpha: 1, Precision: device.Full, Batch: c, StrideA: int64(area), StrideB: int64(area), StrideC: int64(n * n),
	})
	return a.done()
}
