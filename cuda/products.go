package cuda

import (
	"errors"
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// MatMul sets or adds to c = op(a) op(b).
func (e *Engine) MatMul(c, a, b engine.Tensor, transA, transB, accumulate bool) error {
	g := e.args("matmul")
	out, x, y := g.of("c", c, -1, -1), g.of("a", a, -1, -1), g.of("b", b, -1, -1)
	if g.err != nil {
		return g.err
	}
	m, k := x.shape[0], x.shape[1]
	if transA {
		m, k = k, m
	}
	k2, n := y.shape[0], y.shape[1]
	if transB {
		k2, n = n, k2
	}
	g.check(k == k2, "op(a) is (%d, %d) and op(b) (%d, %d)", m, k, k2, n)
	g.of("c", c, m, n)
	if g.apart(out, x, y); g.err != nil {
		return g.err
	}
	p := product{transA: transA, transB: transB, m: m, n: n, k: k, a: g.in(x, device.F32), b: g.in(y, device.F32), precision: e.precision()}
	p.c, p.accumulate = g.out(out, device.F32), accumulate
	g.multiply(p)
	return g.done()
}

// product is a product of row-major matrices without gaps.
type product struct {
	transA, transB bool
	m, n, k        int
	a, b, c        device.Ptr
	typ, out       device.Type
	accumulate     bool
	precision      device.Precision
}

func (a *args) multiply(p product) { a.gemm(p.gemm()) }

// addBias multiplies and adds a bias to every row, and a residual like the product unless
// that is 0: by the library if it can as it writes the product, else by a kernel.
func (a *args) addBias(p product, bias named, residual device.Ptr) {
	g := p.gemm()
	if g.Bias = a.in(bias, p.out); a.err != nil {
		return
	}
	if g.Residual = residual; residual != 0 {
		g.Beta = 1
	}
	err := a.eng.blas.Gemm(g)
	if !errors.Is(err, device.ErrBias) {
		a.failed(err)
		return
	}
	a.eng.plain++
	a.multiply(p)
	a.addRows(p, a.in(bias, device.F32), residual)
}

// addRows adds a bias in float32 and a residual to a product, of which one may be 0.
func (a *args) addRows(p product, bias, residual device.Ptr) {
	a.launch(kernels.ChannelAffine(p.out, int64(p.m)*int64(p.n), p.n, p.c, p.c, 0, bias, residual, 0))
}

func (p product) gemm() device.Gemm {
	g := device.Gemm{
		TransA: p.transA, TransB: p.transB, M: p.m, N: p.n, K: p.k, A: p.a, B: p.b, C: p.c, LDA: p.k, LDB: p.n, LDC: p.n,
		Type: p.typ, Out: p.out, Alpha: 1, Precision: p.precision,
	}
	if p.transA {
		g.LDA = p.m
	}
	if p.transB {
		g.LDB = p.k
	}
	if p.accumulate {
		g.Beta = 1
	}
	return g
}

// withLast returns a shape with another last axis.
func withLast(shape []int, last int) []int {
	return append(slices.Clone(shape[:len(shape)-1]), last)
}

// Linear sets y = x w^T + bias.
func (e *Engine) Linear(y, x, w, bias engine.Tensor) error {
	return e.args("linear").linear(y, nil, x, w, bias)
}

// AddLinear sets y = sum + x w^T + bias.
func (e *Engine) AddLinear(y, sum, x, w, bias engine.Tensor) error {
	a := e.args("linear, added")
	a.any("sum", sum)
	return a.linear(y, sum, x, w, bias)
}

func (a *args) linear(y, sum, x, w, bias engine.Tensor) error {
	in, rows, width := a.lines("x", x, 2)
	weight := a.of("w", w, -1, -1)
	if a.err != nil {
		return a.err
	}
	outs := weight.shape[0]
	a.check(weight.shape[1] == width, "%v and %v differ in width", in, weight)
	out, shift := a.of("y", y, withLast(in.shape, outs)...), a.maybe("bias", bias, outs)
	before := a.maybe("sum", sum, withLast(in.shape, outs)...)
	if a.apart(out, in, weight, before); a.err != nil {
		return a.err
	}
	t := lineType(in, out)
	p := product{transB: true, m: rows, n: outs, k: width, a: a.inLines(in, t), b: a.in(weight, t), typ: t, out: t, precision: a.eng.precision()}
	residual := a.inLines(before, t)
	p.c = a.outLines(out, t)
	if shift.there() {
		a.addBias(p, shift, residual)
	} else if a.multiply(p); residual != 0 {
		a.addRows(p, 0, residual)
	}
	return a.done()
}

// LinearGrad is the gradient of Linear.
func (e *Engine) LinearGrad(dx, dw, dbias, dy, x, w engine.Tensor) error {
	a := e.args("linear gradient")
	in, rows, width := a.lines("x", x, 2)
	weight := a.of("w", w, -1, -1)
	if a.err != nil {
		return a.err
	}
	outs := weight.shape[0]
	a.check(weight.shape[1] == width, "%v and %v differ in width", in, weight)
	up := a.of("dy", dy, withLast(in.shape, outs)...)
	to, toW := a.maybe("dx", dx, in.shape...), a.maybe("dw", dw, outs, width)
	shift := a.maybe("dbias", dbias, outs)
	if a.err != nil {
		return a.err
	}
	t := lineType(in, up, to)
	g := a.inLines(up, t)
	if to.there() {
		p := product{m: rows, n: width, k: outs, a: g, b: a.in(weight, t), typ: t, out: t, precision: e.precision()}
		p.c = a.outLines(to, t)
		a.multiply(p)
	}
	summed := false
	if toW.there() {
		p := product{transA: true, m: outs, n: width, k: rows, a: g, b: a.inLines(in, t), typ: t, precision: e.precision()}
		p.c = a.out(toW, device.F32)
		if summed = shift.there() && a.addsUp(p, shift); !summed {
			a.multiply(p)
		}
	}
	if shift.there() && !summed {
		a.columnSums(shift, t, g, int64(rows), outs)
	}
	return a.done()
}

// addsUp multiplies and leaves the sums of the rows of op(a) in to, if the library does
// that as it multiplies. In which order it adds is its own affair, so where results are to
// be the same always, and at full precision, the sums are ours.
func (a *args) addsUp(p product, to named) bool {
	if a.err != nil || a.eng.opt.Deterministic || a.eng.opt.Precision == FP32 {
		return false
	}
	g := p.gemm()
	g.SumsA = a.out(to, device.F32)
	err := a.eng.blas.Gemm(g)
	if errors.Is(err, device.ErrBias) {
		a.eng.plain++
		return false
	}
	a.failed(err)
	return true
}
