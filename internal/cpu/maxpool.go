package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// poolShape is a checked pooling of planes.
type poolShape struct {
	layers.PoolSpec
	planes, height, width, rows, cols int
}

// checkPool demands that x and y fit the specification.
func (g *args) checkPool(y, x view, spec layers.PoolSpec) poolShape {
	if g.err != nil {
		return poolShape{}
	}
	p := poolShape{PoolSpec: spec, planes: x.shape[0] * x.shape[1], height: x.shape[2], width: x.shape[3]}
	if spec.KernelH < 1 || spec.KernelW < 1 || spec.StrideH < 1 || spec.StrideW < 1 || spec.PadH < 0 || spec.PadW < 0 ||
		spec.PadH >= spec.KernelH || spec.PadW >= spec.KernelW {
		g.fail("kernel %dx%d, stride %dx%d, padding %dx%d: kernel and stride must be positive, padding less than the kernel",
			spec.KernelH, spec.KernelW, spec.StrideH, spec.StrideW, spec.PadH, spec.PadW)
		return p
	}
	p.rows, p.cols = spec.OutSize(p.height, p.width)
	if p.rows < 1 || p.cols < 1 {
		g.fail("a %dx%d window with padding %dx%d does not fit %v", spec.KernelH, spec.KernelW, spec.PadH, spec.PadW, x)
	}
	g.want(y, x, x.shape[0], x.shape[1], p.rows, p.cols)
	return p
}

// window returns the real cells [y0, y1) x [x0, x1) of a window.
func (p *poolShape) window(row, col int) (y0, y1, x0, x1 int) {
	y0, x0 = row*p.StrideH-p.PadH, col*p.StrideW-p.PadW
	y1, x1 = min(y0+p.KernelH, p.height), min(x0+p.KernelW, p.width)
	return max(y0, 0), y1, max(x0, 0), x1
}

// MaxPool takes the maximum of each window. NaN wins over every number.
func (e *Engine) MaxPool(y, x layers.Tensor, spec layers.PoolSpec) error {
	g := args{op: "max pool"}
	d, s := g.get("y", y, 4), g.get("x", x, 4)
	p := g.checkPool(d, s, spec)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	e.pool.run(p.planes, func(_, i int) {
		to, from := d.v[i*p.rows*p.cols:], s.v[i*p.height*p.width:]
		for r := range p.rows {
			for c := range p.cols {
				to[r*p.cols+c], _ = p.max(from, r, c)
			}
		}
	})
	return nil
}

// max returns the maximum of a window of a plane and where it lies first.
func (p *poolShape) max(plane []float32, row, col int) (value float32, at int) {
	y0, y1, x0, x1 := p.window(row, col)
	at = y0*p.width + x0
	value = plane[at]
	for y := y0; y < y1; y++ {
		for i, v := range plane[y*p.width+x0 : y*p.width+x1] {
			if v > value || v != v && value == value {
				value, at = v, y*p.width+x0+i
			}
		}
	}
	return value, at
}

// MaxPoolGrad gives dy to the first maximum of each window.
func (e *Engine) MaxPoolGrad(dx, dy, x, y layers.Tensor, spec layers.PoolSpec) error {
	g := args{op: "max pool gradient"}
	d, u, s, m := g.get("dx", dx, 4), g.get("dy", dy, 4), g.get("x", x, 4), g.get("y", y, 4)
	p := g.checkPool(m, s, spec)
	g.same(u, m)
	g.same(d, s)
	g.apart(d, u, s, m)
	if g.err != nil {
		return g.err
	}
	e.pool.run(p.planes, func(_, i int) {
		area := p.height * p.width
		to, up, from := d.v[i*area:(i+1)*area], u.v[i*p.rows*p.cols:], s.v[i*area:(i+1)*area]
		clear(to)
		for r := range p.rows {
			for c := range p.cols {
				_, at := p.max(from, r, c)
				to[at] += up[r*p.cols+c]
			}
		}
	})
	return nil
}

// GlobalMax takes the maximum over height and width.
func (e *Engine) GlobalMax(y, x layers.Tensor) error {
	g := args{op: "global max"}
	d, s, area := g.global(y, x)
	if g.err != nil {
		return g.err
	}
	e.eachRow(len(d.v), func(r int) {
		plane := s.v[r*area : (r+1)*area]
		d.v[r] = plane[argMax(plane)]
	})
	return nil
}

// argMax returns the first index of the maximum, or of a NaN.
func argMax(x []float32) int {
	at, most := 0, float32(math.Inf(-1))
	for i, v := range x {
		if v > most {
			at, most = i, v
		} else if v != v {
			return i
		}
	}
	return at
}

// GlobalMaxGrad gives dy to the first maximum.
func (e *Engine) GlobalMaxGrad(dx, dy, x, y layers.Tensor) error {
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
		to[argMax(s.v[r*area:(r+1)*area])] = u.v[r]
	})
	return nil
}

// global demands y (N, C) and x (N, C, H, W) and returns H*W.
func (g *args) global(y, x layers.Tensor) (d, s view, area int) {
	d, s = g.get("y", y, 2), g.get("x", x, 4)
	if g.err != nil {
		return d, s, 0
	}
	g.want(d, s, s.shape[:2]...)
	g.apart(d, s)
	return d, s, s.shape[2] * s.shape[3]
}
