package cpu

import "github.com/vernier-ml/vernier/layers"

// shares returns 1/size of all windows, 0 between their rows.
func (e *Engine) shares(p *poolShape) []float32 {
	s := grow(&e.scratch.first, p.windows())
	clear(s)
	for r := range p.rows {
		down := windowSize(r*p.StrideH-p.PadH, p.KernelH, p.height, p.PadH, p.CountPad)
		for c := range p.cols {
			across := windowSize(c*p.StrideW-p.PadW, p.KernelW, p.width, p.PadW, p.CountPad)
			s[r*p.wide+c] = 1 / float32(down*across)
		}
	}
	return s
}

// windowSize is how many cells of a window that starts at from count.
func windowSize(from, kernel, size, pad int, countPad bool) int {
	if countPad {
		return min(from+kernel, size+pad) - from
	}
	return min(from+kernel, size) - max(from, 0)
}

// AvgPool averages each window.
func (e *Engine) AvgPool(y, x layers.Tensor, spec layers.PoolSpec) error {
	g := args{op: "average pool"}
	d, s := g.get("y", y, 4), g.get("x", x, 4)
	p := g.checkPool(d, s, spec)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	kr, shares := e.kernels, e.shares(&p)
	e.eachGroup(&p, p.phases()+p.windows(), func(buf []float32, from, to int) {
		phases, mean := buf[:p.phases()], buf[p.phases():]
		clear(phases)
		for i := from; i < to; i++ {
			p.takeApart(kr, phases, s.v[i*p.height*p.width:])
			clear(mean)
			p.eachTap(phases, func(cells []float32) { kr.add(mean, mean, cells) })
			kr.multiply(mean, mean, shares)
			p.pack(kr, d.v[i*p.rows*p.cols:], mean)
		}
	})
	return nil
}

// AvgPoolGrad shares dy out over each window.
func (e *Engine) AvgPoolGrad(dx, dy layers.Tensor, spec layers.PoolSpec) error {
	g := args{op: "average pool gradient"}
	d, u := g.get("dx", dx, 4), g.get("dy", dy, 4)
	p := g.checkPool(u, d, spec)
	g.apart(d, u)
	if g.err != nil {
		return g.err
	}
	kr, shares := e.kernels, e.shares(&p)
	e.eachGroup(&p, p.phases()+p.windows(), func(buf []float32, from, to int) {
		phases, share := buf[:p.phases()], buf[p.phases():]
		clear(share)
		for i := from; i < to; i++ {
			clear(phases)
			p.spread(kr, share, u.v[i*p.rows*p.cols:])
			kr.multiply(share, share, shares)
			p.eachTap(phases, func(cells []float32) { kr.add(cells, cells, share) })
			p.putTogether(kr, d.v[i*p.height*p.width:], phases)
		}
	})
	return nil
}

// GlobalAvg takes the mean over height and width.
func (e *Engine) GlobalAvg(y, x layers.Tensor) error {
	g := args{op: "global average"}
	d, s, area := g.global(y, x)
	if g.err != nil {
		return g.err
	}
	e.eachRow(len(d.v), func(r int) {
		d.v[r] = float32(e.kernels.sum(s.v[r*area:(r+1)*area]) / float64(area))
	})
	return nil
}

// GlobalAvgGrad shares dy out over height and width.
func (e *Engine) GlobalAvgGrad(dx, dy layers.Tensor) error {
	g := args{op: "global average gradient"}
	u, d, area := g.global(dy, dx)
	if g.err != nil {
		return g.err
	}
	e.eachRow(len(u.v), func(r int) {
		share := u.v[r] / float32(area)
		for i := range area {
			d.v[r*area+i] = share
		}
	})
	return nil
}
