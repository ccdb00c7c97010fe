package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// MaxPool takes the maximum of each window. NaN wins over every number.
func (e *Engine) MaxPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	g := args{op: "max pool"}
	d, s := g.get("y", y, 4), g.get("x", x, 4)
	p := g.checkPool(d, s, spec)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	switch {
	case kr.pool3.max != nil && p.around():
		e.eachPlane(&p, func(_ []float32, from, to int) { kr.pool3.max(d.v[to:], s.v[from:], p.height, p.width) })
		return nil
	case kr.pool3.maxRow != nil && p.alternate():
		e.maxRows(&p, d.v, s.v)
		return nil
	}
	by := merger{kr.maximum, kr.maximum3}
	size, windows := p.phases(), p.windows()
	e.eachGroup(&p, size+windows+p.across(), func(buf []float32, from, to int) {
		phases, most, columns := buf[:size], buf[size:][:windows], buf[size+windows:]
		fill(phases, float32(math.Inf(-1)))
		for i := from; i < to; i++ {
			p.takeApart(kr, phases, s.v[i*p.height*p.width:])
			p.merge(most, phases, columns, by)
			p.pack(kr, d.v[i*p.rows*p.cols:], most)
		}
	})
	return nil
}

// MaxPoolGrad gives dy to the first maximum of each window.
func (e *Engine) MaxPoolGrad(dx, dy, x, y engine.Tensor, spec engine.PoolSpec) error {
	g := args{op: "max pool gradient"}
	d, u, s, m := g.get("dx", dx, 4), g.get("dy", dy, 4), g.get("x", x, 4), g.get("y", y, 4)
	p := g.checkPool(m, s, spec)
	g.same(u, m)
	g.same(d, s)
	g.apart(d, u, s, m)
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	if kr.pool3.maxRowGrad != nil && p.alternate() {
		e.maxRowsGrad(&p, d.v, u.v, s.v, m.v)
		return nil
	}
	area, windows, size := p.height*p.width, p.windows(), p.phases()
	e.eachGroup(&p, 2*size+2*windows, func(buf []float32, from, to int) {
		cells, grads := buf[:size], buf[size:2*size]
		most, left := buf[2*size:][:windows], buf[2*size+windows:]
		fill(cells, float32(math.Inf(-1)))
		clear(most)
		clear(left)
		for i := from; i < to; i++ {
			to, plane := d.v[i*area:(i+1)*area], s.v[i*area:(i+1)*area]
			up, maxima := u.v[i*p.rows*p.cols:][:p.rows*p.cols], m.v[i*p.rows*p.cols:][:p.rows*p.cols]
			if !kr.finite(maxima) {
				p.routeByPlace(to, up, plane)
				continue
			}
			clear(grads)
			p.takeApart(kr, cells, plane)
			p.spread(kr, most, maxima)
			p.spread(kr, left, up)
			for _, at := range p.taps {
				kr.route(grads[at:at+windows], left, cells[at:], most)
			}
			p.putTogether(kr, to, grads)
		}
	})
	return nil
}

// routeByPlace is the gradient of a plane with windows whose maximum is NaN,
// which no comparison finds, or infinite like the padding.
func (p *poolShape) routeByPlace(dx, dy, plane []float32) {
	clear(dx)
	for r := range p.rows {
		y := r*p.StrideH - p.PadH
		for c := range p.cols {
			x := c*p.StrideW - p.PadW
			at, most := -1, float32(math.Inf(-1))
			for v := max(y, 0); v < min(y+p.KernelH, p.height); v++ {
				for u := max(x, 0); u < min(x+p.KernelW, p.width); u++ {
					cell := plane[v*p.width+u]
					if at < 0 || cell > most || cell != cell && most == most {
						at, most = v*p.width+u, cell
					}
				}
			}
			dx[at] += dy[r*p.cols+c]
		}
	}
}

// GlobalMax takes the maximum over height and width.
func (e *Engine) GlobalMax(y, x engine.Tensor) error {
	g := args{op: "global max"}
	d, s, area := g.global(y, x)
	if g.err != nil {
		return g.err
	}
	e.eachRow(len(d.v), func(r int) {
		d.v[r] = e.kernels.largest(s.v[r*area : (r+1)*area])
	})
	return nil
}

// firstOf returns the first index of v, the maximum of x, which is NaN if there is one
// in x.
func firstOf(x []float32, v float32) int {
	for i, u := range x {
		if u == v || u != u {
			return i
		}
	}
	return 0
}

// GlobalMaxGrad gives dy to the first maximum.
func (e *Engine) GlobalMaxGrad(dx, dy, x, y engine.Tensor) error {
	g := args{op: "global max gradient"}
	m, s, area := g.global(y, x)
	d, u := g.get("dx", dx, 4), g.get("dy", dy, 2)
	g.same(u, m)
	g.same(d, s)
	g.apart(d, u, s, m)
	if g.err != nil {
		return g.err
	}
	e.eachRow(len(u.v), func(r int) {
		to := d.v[r*area : (r+1)*area]
		clear(to)
		to[firstOf(s.v[r*area:(r+1)*area], m.v[r])] = u.v[r]
	})
	return nil
}

// global demands y (N, C) and x (N, C, H, W) and returns H*W.
func (g *args) global(y, x engine.Tensor) (d, s view, area int) {
	d, s = g.get("y", y, 2), g.get("x", x, 4)
	if g.err != nil {
		return d, s, 0
	}
	g.want(d, s, s.shape[:2]...)
	g.apart(d, s)
	return d, s, s.shape[2] * s.shape[3]
}
