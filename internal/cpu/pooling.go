package cpu

import "github.com/vernier-ml/vernier/layers"

// poolShape is a checked pooling of planes.
type poolShape struct {
	layers.PoolSpec
	planes, height, width, rows, cols int
	across                            []span // real columns of the windows, by column
	widths                            []run  // columns whose sums are divided alike
}

type span struct{ from, to int }

// run says that the windows of columns [from, to) have size columns that count.
type run struct{ from, to, size int }

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
	if g.err == nil {
		p.columns()
	}
	return p
}

// columns fills across and widths.
func (p *poolShape) columns() {
	p.across = make([]span, p.cols)
	for c := range p.across {
		from := c*p.StrideW - p.PadW
		to := min(from+p.KernelW, p.width)
		p.across[c] = span{max(from, 0), to}
		size := to - max(from, 0)
		if p.CountPad {
			size = min(from+p.KernelW, p.width+p.PadW) - from
		}
		if n := len(p.widths); n > 0 && p.widths[n-1].size == size {
			p.widths[n-1].to = c + 1
		} else {
			p.widths = append(p.widths, run{c, c + 1, size})
		}
	}
}

// down returns the real rows of the windows in a row, and how many count in an
// average.
func (p *poolShape) down(row int) (from, to, size int) {
	from = row*p.StrideH - p.PadH
	to = min(from+p.KernelH, p.height)
	size = to - max(from, 0)
	if p.CountPad {
		size = min(from+p.KernelH, p.height+p.PadH) - from
	}
	return max(from, 0), to, size
}

// reducer merges the cells of windows.
type reducer struct {
	start  float32
	slices func(dst, a, b []float32)
	one    func(a, b float32) float32
}

// reduce sets dst to row r of the output: the rows of its windows are merged
// into one, and then the columns of that. buf is for one row of the input.
func (p *poolShape) reduce(dst, buf, plane []float32, r int, by *reducer) {
	y0, y1, _ := p.down(r)
	row := func(y int) []float32 { return plane[y*p.width : (y+1)*p.width] }
	line := row(y0)
	for y := y0 + 1; y < y1; y++ {
		by.slices(buf[:p.width], line, row(y))
		line = buf[:p.width]
	}
	if p.StrideW == 1 {
		for c := range dst {
			dst[c] = by.start
		}
		for k := range p.KernelW {
			from, to := max(0, p.PadW-k), min(p.cols, p.width+p.PadW-k)
			if from < to {
				by.slices(dst[from:to], dst[from:to], line[from-p.PadW+k:])
			}
		}
		return
	}
	for c, x := range p.across {
		v := line[x.from]
		for _, u := range line[x.from+1 : x.to] {
			v = by.one(v, u)
		}
		dst[c] = v
	}
}

// eachPlane calls do for every plane, small ones by groups.
func (e *Engine) eachPlane(p *poolShape, do func(w *workerScratch, plane int)) {
	group := max(1, chunk/4/(p.height*p.width))
	e.pool.run(ceilDiv(p.planes, group), func(worker, i int) {
		for plane := i * group; plane < min((i+1)*group, p.planes); plane++ {
			do(&e.scratch.workers[worker], plane)
		}
	})
}
