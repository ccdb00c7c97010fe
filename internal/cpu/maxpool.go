package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// MaxPool takes the maximum of each window. NaN wins over every number.
func (e *Engine) MaxPool(y, x layers.Tensor, spec layers.PoolSpec) error {
	g := args{op: "max pool"}
	d, s := g.get("y", y, 4), g.get("x", x, 4)
	p := g.checkPool(d, s, spec)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	by := reducer{start: float32(math.Inf(-1)), slices: e.kernels.maximum, one: func(a, b float32) float32 { return max(a, b) }}
	e.eachPlane(&p, func(w *workerScratch, i int) {
		buf := grow(&w.rows, p.width)
		to, from := d.v[i*p.rows*p.cols:], s.v[i*p.height*p.width:]
		for r := range p.rows {
			p.reduce(to[r*p.cols:(r+1)*p.cols], buf, from, r, &by)
		}
	})
	return nil
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
	e.eachPlane(&p, func(_ *workerScratch, i int) {
		area := p.height * p.width
		to, up, from := d.v[i*area:(i+1)*area], u.v[i*p.rows*p.cols:], s.v[i*area:(i+1)*area]
		clear(to)
		for r := range p.rows {
			y0, y1, _ := p.down(r)
			for c, x := range p.across {
				to[argMaxWindow(from, p.width, y0, y1, x)] += up[r*p.cols+c]
			}
		}
	})
	return nil
}

// argMaxWindow returns where the maximum of a window, or a NaN, lies first.
// Which cell it is cannot be predicted, so there is no branch: the values become
// integers of the same order, with the place, earlier ones higher, in the low
// bits.
func argMaxWindow(plane []float32, width, y0, y1 int, x span) int {
	most := int64(math.MinInt64)
	for y := y0; y < y1; y++ {
		at := y*width + x.from
		for i, v := range plane[at : y*width+x.to] {
			bits := int32(math.Float32bits(v + 0)) // no negative zero
			if v != v {
				bits = math.MaxInt32
			}
			bits ^= bits >> 31 & math.MaxInt32
			most = max(most, int64(bits)<<32-int64(at+i))
		}
	}
	return int(-most & math.MaxUint32)
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
