package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

func (g *args) geluForm(form engine.GELUForm) {
	if form > engine.GELUTanh {
		g.fail("form %d is unknown, want layers.GELUErf or layers.GELUTanh", form)
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
	if form == engine.GELUTanh {
		run = geluTanh
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
	if form == engine.GELUTanh {
		run = geluTanhGrad
	}
	e.pool.spans(len(d.v), func(i, j int) { run(d.v[i:j], u.v[i:j], s.v[i:j]) })
	return nil
}
