package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// Add sets dst = a + b.
func (e *Engine) Add(dst, a, b engine.Tensor) error {
	g := args{op: "add"}
	d, x, y := g.get("dst", dst, -1), g.get("a", a, -1), g.get("b", b, -1)
	g.same(y, x)
	g.same(d, x)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.add(d.v[i:j], x.v[i:j], y.v[i:j]) })
	return nil
}

// Scale sets dst = s * a.
func (e *Engine) Scale(dst, a engine.Tensor, s float32) error {
	g := args{op: "scale"}
	d, x := g.get("dst", dst, -1), g.get("a", a, -1)
	g.same(d, x)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.scale(d.v[i:j], x.v[i:j], s) })
	return nil
}

// ReLU sets y = max(x, 0); NaN stays NaN.
func (e *Engine) ReLU(y, x engine.Tensor) error {
	g := args{op: "relu"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	g.same(d, s)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.relu(d.v[i:j], s.v[i:j]) })
	return nil
}

// ReLU6 sets y = min(max(x, 0), 6).
func (e *Engine) ReLU6(y, x engine.Tensor) error {
	g := args{op: "relu6"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	g.same(d, s)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.affine(d.v[i:j], s.v[i:j], nil, 0, 1, 0, engine.Ceiling6) })
	return nil
}

// ReLU6Grad sets dx = dy where 0 < y < 6, else 0.
func (e *Engine) ReLU6Grad(dx, dy, y engine.Tensor) error {
	g := args{op: "relu6 gradient"}
	d, u, v := g.get("dx", dx, -1), g.get("dy", dy, -1), g.get("y", y, -1)
	g.same(u, v)
	g.same(d, v)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.boundGrad(d.v[i:j], u.v[i:j], v.v[i:j], engine.Ceiling6) })
	return nil
}

// ReLUGrad sets dx = dy where y > 0, else 0.
func (e *Engine) ReLUGrad(dx, dy, y engine.Tensor) error {
	g := args{op: "relu gradient"}
	d, u, v := g.get("dx", dx, -1), g.get("dy", dy, -1), g.get("y", y, -1)
	g.same(u, v)
	g.same(d, v)
	if g.err != nil {
		return g.err
	}
	e.pool.spans(len(d.v), func(i, j int) { e.kernels.reluGrad(d.v[i:j], u.v[i:j], v.v[i:j]) })
	return nil
}
