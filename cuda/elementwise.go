package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/layers"
)

// Add sets dst = a + b.
func (e *Engine) Add(dst, a, b layers.Tensor) error {
	g := e.args("add")
	d, x, y := g.any("dst", dst), g.any("a", a), g.any("b", b)
	g.same(d, x)
	g.same(d, y)
	if g.err != nil {
		return g.err
	}
	t := common(d, x, y)
	p, q := g.in(x, t), g.in(y, t)
	g.launch(kernels.Add(t, int64(d.size), g.out(d, t), p, q))
	return g.done()
}

// Scale sets dst = s * a.
func (e *Engine) Scale(dst, a layers.Tensor, s float32) error {
	g := e.args("scale")
	d, x := g.any("dst", dst), g.any("a", a)
	g.same(d, x)
	if g.err != nil {
		return g.err
	}
	t := common(d, x)
	p := g.in(x, t)
	g.launch(kernels.Scale(t, int64(d.size), g.out(d, t), p, s))
	return g.done()
}

// ReLU sets y = max(x, 0).
func (e *Engine) ReLU(y, x layers.Tensor) error {
	g := e.args("relu")
	d, s := g.any("y", y), g.any("x", x)
	g.same(d, s)
	if g.err != nil {
		return g.err
	}
	t := common(d, s)
	p := g.in(s, t)
	g.launch(kernels.ReLU(t, int64(d.size), g.out(d, t), p))
	return g.done()
}

// ReLUGrad sets dx = dy where y > 0, else 0.
func (e *Engine) ReLUGrad(dx, dy, y layers.Tensor) error {
	g := e.args("relu gradient")
	d, up, out := g.any("dx", dx), g.any("dy", dy), g.any("y", y)
	g.same(d, up)
	g.same(d, out)
	if g.err != nil {
		return g.err
	}
	t := common(d, up, out)
	p, q := g.in(up, t), g.in(out, t)
	g.launch(kernels.ReLUGrad(t, int64(d.size), g.out(d, t), p, q))
	return g.done()
}

// GELU sets y = x Phi(x).
func (e *Engine) GELU(y, x layers.Tensor, form layers.GELUForm) error {
	g := e.args("gelu")
	d, s := g.any("y", y), g.any("x", x)
	g.same(d, s)
	g.check(form <= layers.GELUTanh, "form %d is unknown", form)
	if g.err != nil {
		return g.err
	}
	t := common(d, s)
	p := g.in(s, t)
	g.launch(kernels.GELU(t, int64(d.size), g.out(d, t), p, int(form)))
	return g.done()
}

// GELUGrad is its gradient.
func (e *Engine) GELUGrad(dx, dy, x layers.Tensor, form layers.GELUForm) error {
	g := e.args("gelu gradient")
	d, up, s := g.any("dx", dx), g.any("dy", dy), g.any("x", x)
	g.same(d, up)
	g.same(d, s)
	g.check(form <= layers.GELUTanh, "form %d is unknown", form)
	if g.err != nil {
		return g.err
	}
	t := common(d, up, s)
	p, q := g.in(up, t), g.in(s, t)
	g.launch(kernels.GELUGrad(t, int64(d.size), g.out(d, t), p, q, int(form)))
	return g.done()
}

// rowsOf is x (K, ...) as rows of equal length. In memory, row k holds what has
// index k on the first axis whatever the order of the other axes is.
func rowsOf(x named) (rows, width int) { return x.shape[0], x.size / x.shape[0] }

// ScaleRows sets row k of dst to s[k] times that of a.
func (e *Engine) ScaleRows(dst, a, s layers.Tensor) error {
	g := e.args("scale rows")
	d, x := g.any("dst", dst), g.any("a", a)
	g.same(d, x)
	if g.err != nil {
		return g.err
	}
	rows, width := rowsOf(x)
	by := g.of("s", s, rows)
	if g.err != nil {
		return g.err
	}
	p, q := g.in(x, device.F32), g.in(by, device.F32)
	g.launch(kernels.ScaleRows(rows, width, g.out(d, device.F32), p, q))
	return g.done()
}

// RowDots sets d[k] to the sum of products of rows k of a and b.
func (e *Engine) RowDots(d, a, b layers.Tensor) error {
	g := e.args("row dots")
	x, y := g.any("a", a), g.any("b", b)
	g.same(x, y)
	if g.err != nil {
		return g.err
	}
	rows, width := rowsOf(x)
	out := g.of("d", d, rows)
	if g.err != nil {
		return g.err
	}
	p, q := g.in(x, device.F32), g.in(y, device.F32)
	g.launch(kernels.RowDots(rows, width, g.out(out, device.F32), p, q))
	return g.done()
}
