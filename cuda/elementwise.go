package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// each launches a kernel that computes every element of to from those of from,
// all stored alike.
func (a *args) each(to named, from []named, launch func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch) error {
	all := append([]named{to}, from...)
	for _, x := range from {
		a.same(to, x)
	}
	if a.err != nil {
		return a.err
	}
	t := common(all...)
	in := make([]kernels.Ptr, len(from))
	for i, x := range from {
		in[i] = a.in(x, t)
	}
	a.launch(launch(t, int64(to.size), a.out(to, t), in))
	return a.done()
}

// Add sets dst = a + b.
func (e *Engine) Add(dst, a, b engine.Tensor) error {
	g := e.args("add")
	return g.each(g.any("dst", dst), []named{g.any("a", a), g.any("b", b)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.Add(t, n, y, x[0], x[1])
	})
}

// Scale sets dst = s * a.
func (e *Engine) Scale(dst, a engine.Tensor, s float32) error {
	g := e.args("scale")
	return g.each(g.any("dst", dst), []named{g.any("a", a)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.Scale(t, n, y, x[0], s)
	})
}

// ReLU sets y = max(x, 0).
func (e *Engine) ReLU(y, x engine.Tensor) error {
	g := e.args("relu")
	return g.each(g.any("y", y), []named{g.any("x", x)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.ReLU(t, n, y, x[0])
	})
}

// ReLUGrad sets dx = dy where y > 0, else 0.
func (e *Engine) ReLUGrad(dx, dy, y engine.Tensor) error {
	g := e.args("relu gradient")
	return g.each(g.any("dx", dx), []named{g.any("dy", dy), g.any("y", y)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.ReLUGrad(t, n, y, x[0], x[1])
	})
}

// ReLU6 sets y = min(max(x, 0), 6).
func (e *Engine) ReLU6(y, x engine.Tensor) error {
	g := e.args("relu6")
	return g.each(g.any("y", y), []named{g.any("x", x)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.Bound(t, n, y, x[0], engine.Ceiling6)
	})
}

// ReLU6Grad sets dx = dy where 0 < y < 6, else 0.
func (e *Engine) ReLU6Grad(dx, dy, y engine.Tensor) error {
	g := e.args("relu6 gradient")
	return g.each(g.any("dx", dx), []named{g.any("dy", dy), g.any("y", y)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.BoundGrad(t, n, y, x[0], x[1], engine.Ceiling6)
	})
}

// GELU sets y = x Phi(x).
func (e *Engine) GELU(y, x engine.Tensor, form engine.GELUForm) error {
	g := e.args("gelu")
	g.check(form.Known(), "form %d is unknown", form)
	return g.each(g.any("y", y), []named{g.any("x", x)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.GELU(t, n, y, x[0], int(form))
	})
}

// GELUGrad is its gradient.
func (e *Engine) GELUGrad(dx, dy, x engine.Tensor, form engine.GELUForm) error {
	g := e.args("gelu gradient")
	g.check(form.Known(), "form %d is unknown", form)
	return g.each(g.any("dx", dx), []named{g.any("dy", dy), g.any("x", x)}, func(t kernels.Type, n int64, y kernels.Ptr, x []kernels.Ptr) kernels.Launch {
		return kernels.GELUGrad(t, n, y, x[0], x[1], int(form))
	})
}

// rowsOf is x (K, ...) as rows of equal length. In memory, row k holds what has
// index k on the first axis whatever the order of the other axes is.
func rowsOf(x named) (rows, width int) { return x.shape[0], x.size / x.shape[0] }

// ScaleRows sets row k of dst to s[k] times that of a.
func (e *Engine) ScaleRows(dst, a, s engine.Tensor) error {
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
	if e.bundle != nil {
		g.task(kernels.ScaleRowsTask(d.typ, x.typ, rows, width, d.ptr, x.ptr, g.in(by, device.F32)), d)
		return g.err
	}
	p, q := g.in(x, device.F32), g.in(by, device.F32)
	g.launch(kernels.ScaleRows(rows, width, g.out(d, device.F32), p, q))
	return g.done()
}

// RowDots sets d[k] to the sum of products of rows k of a and b.
func (e *Engine) RowDots(d, a, b engine.Tensor) error {
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
	if e.bundle != nil {
		g.task(kernels.RowDotsTask(x.typ, y.typ, rows, width, g.out(out, device.F32), x.ptr, y.ptr), out)
		return g.err
	}
	p, q := g.in(x, device.F32), g.in(y, device.F32)
	g.launch(kernels.RowDots(rows, width, g.out(out, device.F32), p, q))
	return g.done()
}
