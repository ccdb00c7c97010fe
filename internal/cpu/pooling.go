package cpu

import "github.com/vernier-ml/vernier/layers"

// poolShape is a checked pooling of planes.
//
// A plane is taken apart by phase: cells whose row and column in the padded
// plane are equal modulo the strides, deep x wide of them. The cells at one tap
// of all windows are then one run of a phase, and an operation on the windows is
// one on long vectors for each tap. Windows lie wide apart as well, with
// undefined numbers between the rows.
type poolShape struct {
	layers.PoolSpec
	planes, height, width, rows, cols int
	deep, wide                        int // rows and columns of a phase
	taken                             int // columns of a plane that windows reach
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
	p.deep, p.wide = p.rows+(p.KernelH-1)/p.StrideH, p.cols+(p.KernelW-1)/p.StrideW
	p.taken = min(p.width, p.wide*p.StrideW-p.PadW)
	return p
}

// phases is the size of a plane that was taken apart.
func (p *poolShape) phases() int { return p.StrideH * p.StrideW * p.deep * p.wide }

// windows is the length of the run of all windows of a plane.
func (p *poolShape) windows() int { return (p.rows-1)*p.wide + p.cols }

// tap returns the run of tap (i, j) of all windows.
func (p *poolShape) tap(phases []float32, i, j int) []float32 {
	at := (i%p.StrideH*p.StrideW+j%p.StrideW)*p.deep*p.wide + i/p.StrideH*p.wide + j/p.StrideW
	return phases[at : at+p.windows()]
}

// eachTap calls do for the taps in row-major order.
func (p *poolShape) eachTap(phases []float32, do func(run []float32)) {
	for i := range p.KernelH {
		for j := range p.KernelW {
			do(p.tap(phases, i, j))
		}
	}
}

// row returns where row y of the plane lies in its phases: those of a column
// phase v are at cells(v).
func (p *poolShape) row(phases []float32, y int) (row poolRow, inside bool) {
	y += p.PadH
	if y/p.StrideH >= p.deep {
		return poolRow{}, false
	}
	at := y%p.StrideH*p.StrideW*p.deep*p.wide + y/p.StrideH*p.wide
	return poolRow{p, phases[at:]}, true
}

type poolRow struct {
	p      *poolShape
	phases []float32
}

// cells returns the places of x, x+stride, ... for x < stride.
func (r poolRow) cells(x int) []float32 {
	p := r.p
	if x >= p.taken {
		return nil
	}
	at := (x+p.PadW)%p.StrideW*p.deep*p.wide + (x+p.PadW)/p.StrideW
	return r.phases[at:][:ceilDiv(p.taken-x, p.StrideW)]
}

// takeApart fills the phases' cells from a plane and leaves their padding.
func (p *poolShape) takeApart(kr *kernels, phases, plane []float32) {
	for y := range p.height {
		row, inside := p.row(phases, y)
		if !inside {
			return
		}
		line := plane[y*p.width:][:p.taken]
		switch p.StrideW {
		case 1:
			copy(row.cells(0), line)
		case 2:
			kr.split(row.cells(0), row.cells(1), line)
		default:
			for x := range min(p.StrideW, len(line)) {
				for i := range row.cells(x) {
					row.cells(x)[i] = line[x+i*p.StrideW]
				}
			}
		}
	}
}

// putTogether is the inverse of takeApart; cells that no window reaches become 0.
func (p *poolShape) putTogether(kr *kernels, plane, phases []float32) {
	for y := range p.height {
		line := plane[y*p.width : (y+1)*p.width]
		row, inside := p.row(phases, y)
		if !inside {
			clear(line)
			continue
		}
		clear(line[p.taken:])
		line = line[:p.taken]
		switch p.StrideW {
		case 1:
			copy(line, row.cells(0))
		case 2:
			kr.merge(line, row.cells(0), row.cells(1))
		default:
			for x := range min(p.StrideW, len(line)) {
				for i, v := range row.cells(x) {
					line[x+i*p.StrideW] = v
				}
			}
		}
	}
}

// pack and spread move the results of windows between their run and a tensor.
func (p *poolShape) pack(dst, run []float32) {
	for r := range p.rows {
		copy(dst[r*p.cols:(r+1)*p.cols], run[r*p.wide:])
	}
}

func (p *poolShape) spread(run, src []float32) {
	for r := range p.rows {
		copy(run[r*p.wide:], src[r*p.cols:(r+1)*p.cols])
	}
}

// eachGroup calls do for groups of planes, with a buffer of so many numbers.
func (e *Engine) eachGroup(p *poolShape, size int, do func(buf []float32, from, to int)) {
	group := max(1, chunk/(p.height*p.width))
	e.pool.run(ceilDiv(p.planes, group), func(worker, i int) {
		do(grow(&e.scratch.workers[worker].rows, size), i*group, min((i+1)*group, p.planes))
	})
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
