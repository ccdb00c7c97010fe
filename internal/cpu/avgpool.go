package cpu

import "github.com/vernier-ml/vernier/layers"

// divisor returns what a window's sum is divided by.
func (p *poolShape) divisor(row, col int) float32 {
	y0, y1, x0, x1 := p.window(row, col)
	if p.CountPad {
		y0, x0 = row*p.StrideH-p.PadH, col*p.StrideW-p.PadW
		y1, x1 = min(y0+p.KernelH, p.height+p.PadH), min(x0+p.KernelW, p.width+p.PadW)
	}
	return float32((y1 - y0) * (x1 - x0))
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
	e.pool.run(p.planes, func(_, i int) {
		to, from := d.v[i*p.rows*p.cols:], s.v[i*p.height*p.width:]
		for r := range p.rows {
			for c := range p.cols {
				y0, y1, x0, x1 := p.window(r, c)
				total := float32(0)
				for y := y0; y < y1; y++ {
					for _, v := range from[y*p.width+x0 : y*p.width+x1] {
						total += v
					}
				}
				to[r*p.cols+c] = total / p.divisor(r, c)
			}
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
	e.pool.run(p.planes, func(_, i int) {
		area := p.height * p.width
		to, up := d.v[i*area:(i+1)*area], u.v[i*p.rows*p.cols:]
		clear(to)
		for r := range p.rows {
			for c := range p.cols {
				y0, y1, x0, x1 := p.window(r, c)
				share := up[r*p.cols+c] / p.divisor(r, c)
				for y := y0; y < y1; y++ {
					line := to[y*p.width+x0 : y*p.width+x1]
					for j := range line {
						line[j] += share
					}
				}
			}
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
