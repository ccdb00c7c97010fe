package cpu

import "github.com/vernier-ml/vernier/layers"

// divide sets dst to row r of src, divided by the sizes of the windows.
func (p *poolShape) divide(kr *kernels, dst, src []float32, r int) {
	_, _, down := p.down(r)
	for _, w := range p.widths {
		kr.scale(dst[w.from:w.to], src[w.from:w.to], 1/float32(down*w.size))
	}
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
	by := reducer{slices: e.kernels.add, one: func(a, b float32) float32 { return a + b }}
	e.eachPlane(&p, func(w *workerScratch, i int) {
		buf := grow(&w.rows, p.width)
		to, from := d.v[i*p.rows*p.cols:], s.v[i*p.height*p.width:]
		for r := range p.rows {
			line := to[r*p.cols : (r+1)*p.cols]
			p.reduce(line, buf, from, r, &by)
			p.divide(e.kernels, line, line, r)
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
	e.eachPlane(&p, func(w *workerScratch, i int) {
		buf := grow(&w.rows, p.width+p.cols)
		share, line := buf[:p.cols], buf[p.cols:]
		area := p.height * p.width
		to, up := d.v[i*area:(i+1)*area], u.v[i*p.rows*p.cols:]
		clear(to)
		for r := range p.rows {
			p.divide(e.kernels, share, up[r*p.cols:(r+1)*p.cols], r)
			p.shareOut(e.kernels, line, share)
			y0, y1, _ := p.down(r)
			for y := y0; y < y1; y++ {
				row := to[y*p.width : (y+1)*p.width]
				e.kernels.add(row, row, line)
			}
		}
	})
	return nil
}

// shareOut sets line, a row of the input, to the sums of the shares of the
// windows that each cell lies in.
func (p *poolShape) shareOut(kr *kernels, line, share []float32) {
	clear(line)
	if p.StrideW == 1 {
		for k := range p.KernelW {
			from, to := max(0, p.PadW-k), min(p.cols, p.width+p.PadW-k)
			if from < to {
				cells := line[from-p.PadW+k : to-p.PadW+k]
				kr.add(cells, cells, share[from:to])
			}
		}
		return
	}
	for c, v := range share {
		for x := p.across[c].from; x < p.across[c].to; x++ {
			line[x] += v
		}
	}
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
