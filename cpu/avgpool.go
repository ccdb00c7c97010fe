package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// shares returns 1/size of all windows, whose rows are pitch apart, 0 between them.
func (e *Engine) shares(p *poolShape, pitch int) []float32 {
	s := grow(&e.scratch.first, (p.rows-1)*pitch+p.cols)
	clear(s)
	for r := range p.rows {
		down := windowSize(r*p.StrideH-p.PadH, p.KernelH, p.height, p.PadH, p.CountPad)
		for c := range p.cols {
			across := windowSize(c*p.StrideW-p.PadW, p.KernelW, p.width, p.PadW, p.CountPad)
			s[r*pitch+c] = 1 / float32(down*across)
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
func (e *Engine) AvgPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	g := args{op: "average pool"}
	d, s := g.get("y", y, 4), g.get("x", x, 4)
	p := g.checkPool(d, s, spec)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	switch {
	case p.whole():
		e.means(d.v, s.v, p.height*p.width)
		return nil
	case kr.pool3.sum != nil && p.around():
		shares := e.shares(&p, p.cols)
		e.eachPlane(&p, func(_ []float32, from, to int) {
			y := d.v[to:][:len(shares)]
			kr.pool3.sum(y, s.v[from:], p.height, p.width)
			kr.multiply(y, y, shares)
		})
		return nil
	}
	shares := e.shares(&p, p.wide)
	size, windows := p.phases(), p.windows()
	e.eachGroup(&p, size+windows+p.across(), func(buf []float32, from, to int) {
		phases, mean, columns := buf[:size], buf[size:][:windows], buf[size+windows:]
		clear(phases)
		for i := from; i < to; i++ {
			p.takeApart(kr, phases, s.v[i*p.height*p.width:])
			p.merge(mean, phases, columns, merger{kr.add, kr.add3})
			kr.multiply(mean, mean, shares)
			p.pack(kr, d.v[i*p.rows*p.cols:], mean)
		}
	})
	return nil
}

// AvgPoolGrad shares dy out over each window.
func (e *Engine) AvgPoolGrad(dx, dy engine.Tensor, spec engine.PoolSpec) error {
	g := args{op: "average pool gradient"}
	d, u := g.get("dx", dx, 4), g.get("dy", dy, 4)
	p := g.checkPool(u, d, spec)
	g.apart(d, u)
	if g.err != nil {
		return g.err
	}
	kr, windows, area := e.kernels, p.windows(), p.height*p.width
	switch {
	case p.whole():
		e.spreadMeans(d.v, u.v, area)
		return nil
	case kr.pool3.sum != nil && p.around():
		shares := e.shares(&p, p.cols)
		e.eachPlane(&p, func(buf []float32, to, from int) {
			kr.multiply(buf, u.v[from:][:len(buf)], shares)
			kr.pool3.sum(d.v[to:], buf, p.height, p.width)
		})
		return nil
	}
	shares := e.shares(&p, p.wide)
	if p.StrideH == 1 && p.StrideW == 1 {
		q := p.turned()
		size, cells := q.phases(), q.windows()
		e.eachGroup(&p, size+cells+windows+q.across(), func(buf []float32, from, to int) {
			phases, sum, share, columns := buf[:size], buf[size:][:cells], buf[size+cells:][:windows], buf[size+cells+windows:]
			clear(phases)
			for i := from; i < to; i++ {
				p.spread(kr, share, u.v[i*p.rows*p.cols:])
				kr.multiply(share, share, shares)
				copyPlane(kr, phases[q.lines[0]+q.cells[0].from:], q.wide, share, p.wide, p.rows, p.cols)
				q.merge(sum, phases, columns, merger{kr.add, kr.add3})
				q.pack(kr, d.v[i*area:], sum)
			}
		})
		return nil
	}
	size := p.phases()
	e.eachGroup(&p, size+windows, func(buf []float32, from, to int) {
		phases, share := buf[:size], buf[size:]
		clear(share)
		for i := from; i < to; i++ {
			clear(phases)
			p.spread(kr, share, u.v[i*p.rows*p.cols:])
			kr.multiply(share, share, shares)
			for _, at := range p.taps {
				kr.add(phases[at:at+windows], phases[at:], share)
			}
			p.putTogether(kr, d.v[i*area:], phases)
		}
	})
	return nil
}

// turned returns the pooling with stride 1 that sums, for each cell, over the
// windows of p that it lies in.
func (p *poolShape) turned() poolShape {
	q := poolShape{PoolSpec: p.PoolSpec, planes: p.planes, height: p.rows, width: p.cols, rows: p.height, cols: p.width}
	q.PadH, q.PadW = p.KernelH-1-p.PadH, p.KernelW-1-p.PadW
	q.layout()
	return q
}

// GlobalAvg takes the mean over height and width.
func (e *Engine) GlobalAvg(y, x engine.Tensor) error {
	g := args{op: "global average"}
	d, s, area := g.global(y, x)
	if g.err != nil {
		return g.err
	}
	e.means(d.v, s.v, area)
	return nil
}

// means sets y to the means of the planes of x.
func (e *Engine) means(y, x []float32, area int) {
	e.eachRow(len(y), func(r int) {
		y[r] = float32(e.kernels.sum(x[r*area:(r+1)*area]) / float64(area))
	})
}

// GlobalAvgGrad shares dy out over height and width.
func (e *Engine) GlobalAvgGrad(dx, dy engine.Tensor) error {
	g := args{op: "global average gradient"}
	u, d, area := g.global(dy, dx)
	if g.err != nil {
		return g.err
	}
	e.spreadMeans(d.v, u.v, area)
	return nil
}

// spreadMeans is the gradient of means.
func (e *Engine) spreadMeans(dx, dy []float32, area int) {
	e.eachRow(len(dy), func(r int) { fill(dx[r*area:(r+1)*area], dy[r]/float32(area)) })
}
