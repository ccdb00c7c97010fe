package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

func (g *args) geluForm(form engine.GELUForm) {
	if !form.Known() {
		g.fail("form %d is unknown, want engine.GELUErf, GELUTanh or GELUQuick", form)
	}
}

// GELU sets y = x Phi(x).
func (e *Engine) GELU(y, x engine.Tensor, form engine.GELUForm) error {
	g := args{op: "gelu"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	g.same(d, s)
	g.geluForm(form)
	if g.err != nil {
		return g.err
	}
	run := e.kernels.gelu
	switch form {
	case engine.GELUTanh:
		run = geluTanh
	case engine.GELUQuick:
		run = e.kernels.geluQuick
	}
	e.pool.spans(len(d.v), func(i, j int) { run(d.v[i:j], s.v[i:j]) })
	return nil
}

// GELUGrad is the gradient of GELU.
func (e *Engine) GELUGrad(dx, dy, x engine.Tensor, form engine.GELUForm) error {
	g := args{op: "gelu gradient"}
	d, u, s := g.get("dx", dx, -1), g.get("dy", dy, -1), g.get("x", x, -1)
	g.same(u, s)
	g.same(d, s)
	g.geluForm(form)
	if g.err != nil {
		return g.err
	}
	run := e.kernels.geluGrad
	switch form {
	case engine.GELUTanh:
		run = geluTanhGrad
	case engine.GELUQuick:
		run = e.kernels.geluQuickGrad
	}
	e.pool.spans(len(d.v), func(i, j int) { run(d.v[i:j], u.v[i:j], s.v[i:j]) })
	return nil
}
