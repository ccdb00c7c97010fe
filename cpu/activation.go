package cpu

import "github.com/vernier-ml/vernier/layers"

func (g *args) geluForm(form layers.GELUForm) {
	if form > layers.GELUTanh {
		g.fail("form %d is unknown, want layers.GELUErf or layers.GELUTanh", form)
	}
}

// GELU sets y = x Phi(x).
func (e *Engine) GELU(y, x layers.Tensor, form layers.GELUForm) error {
	g := args{op: "gelu"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	g.same(d, s)
	g.geluForm(form)
	if g.err != nil {
		return g.err
	}
	run := e.kernels.gelu
	if form == layers.GELUTanh {
		run = geluTanh
	}
	e.pool.spans(len(d.v), func(i, j int) { run(d.v[i:j], s.v[i:j]) })
	return nil
}

// GELUGrad is the gradient of GELU.
func (e *Engine) GELUGrad(dx, dy, x layers.Tensor, form layers.GELUForm) error {
	g := args{op: "gelu gradient"}
	d, u, s := g.get("dx", dx, -1), g.get("dy", dy, -1), g.get("x", x, -1)
	g.same(u, s)
	g.same(d, s)
	g.geluForm(form)
	if g.err != nil {
		return g.err
	}
	run := e.kernels.geluGrad
	if form == layers.GELUTanh {
		run = geluTanhGrad
	}
	e.pool.spans(len(d.v), func(i, j int) { run(d.v[i:j], u.v[i:j], s.v[i:j]) })
	return nil
}
