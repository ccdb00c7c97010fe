package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// poolShape is a checked pooling of planes.
//
// A plane is taken apart by phase: cells whose row and column in the padded
// plane are equal modulo the strides, deep x wide of them. The cells at one tap
// of all windows are then one run of a phase, and an operation on the windows is
// one on long vectors for each tap. Windows lie wide apart as well, with
// undefined numbers between the rows.
type poolShape struct {
	engine.PoolSpec
	planes, height, width, rows, cols int
	deep, wide                        int // rows and columns of a phase
	taken                             int // columns of a plane that windows reach
	lines, taps                       []int
	cells                             []span
}

// checkPool demands that x and y fit the specification.
func (g *args) checkPool(y, x view, spec engine.PoolSpec) poolShape {
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
		p.layout()
	}
	return p
}

// phases is the size of a plane that was taken apart.
func (p *poolShape) phases() int { return p.StrideH * p.StrideW * p.deep * p.wide }

// windows is the length of the run of all windows of a plane.
func (p *poolShape) windows() int { return (p.rows-1)*p.wide + p.cols }

// merge sets dst, the run of all windows, to their cells merged: first those of
// each column of a window, for each column phase, and then these. buf is for
// across numbers.
func (p *poolShape) merge(dst, phases, buf []float32, by merger) {
	n := p.windows() + (p.KernelW-1)/p.StrideW
	runs := make([][]float32, 0, 16)
	for v := range min(p.StrideW, p.KernelW) {
		runs = runs[:0]
		for i := range p.KernelH {
			runs = append(runs, phases[p.taps[i*p.KernelW+v]:])
		}
		by.merge(buf[v*n:(v+1)*n], runs)
	}
	runs = runs[:0]
	for j := range p.KernelW {
		runs = append(runs, buf[j%p.StrideW*n+j/p.StrideW:])
	}
	by.merge(dst, runs)
}

// across is the size of the buffer of merge.
func (p *poolShape) across() int {
	return min(p.StrideW, p.KernelW) * (p.windows() + (p.KernelW-1)/p.StrideW)
}

// merger merges two or three runs.
type merger struct {
	two   func(dst, a, b []float32)
	three func(dst, a, b, c []float32)
}

func (m merger) merge(dst []float32, runs [][]float32) {
	switch len(runs) {
	case 1:
		copy(dst, runs[0])
		return
	case 2:
		m.two(dst, runs[0], runs[1])
		return
	}
	m.three(dst, runs[0], runs[1], runs[2])
	for _, r := range runs[3:] {
		m.two(dst, dst, r)
	}
}

// layout says where numbers lie: lines, where each row of a plane begins in its
// phases, cells, where its numbers x, x+stride, ... lie in a row for each
// x < stride, and taps, where the run of each tap begins.
func (p *poolShape) layout() {
	p.deep, p.wide = p.rows+(p.KernelH-1)/p.StrideH, p.cols+(p.KernelW-1)/p.StrideW
	p.taken = min(p.width, p.wide*p.StrideW-p.PadW)
	size := p.deep * p.wide
	for y := p.PadH; y < p.PadH+p.height && y/p.StrideH < p.deep; y++ {
		p.lines = append(p.lines, y%p.StrideH*p.StrideW*size+y/p.StrideH*p.wide)
	}
	for x := range min(p.StrideW, p.taken) {
		from := x + p.PadW
		at := from%p.StrideW*size + from/p.StrideW
		p.cells = append(p.cells, span{at, at + ceilDiv(p.taken-x, p.StrideW)})
	}
	for i := range p.KernelH {
		for j := range p.KernelW {
			p.taps = append(p.taps, (i%p.StrideH*p.StrideW+j%p.StrideW)*size+i/p.StrideH*p.wide+j/p.StrideW)
		}
	}
}

type span struct{ from, to int }

func (s span) of(x []float32) []float32 { return x[s.from:s.to] }

// takeApart fills the phases' cells from a plane and leaves their padding.
func (p *poolShape) takeApart(kr *kernels, phases, plane []float32) {
	if p.StrideH == 1 && p.StrideW == 1 {
		copyPlane(kr, phases[p.lines[0]+p.cells[0].from:], p.wide, plane, p.width, len(p.lines), p.taken)
		return
	}
	for y, at := range p.lines {
		row, line := phases[at:], plane[y*p.width:][:p.taken]
		switch {
		case p.StrideW == 1:
			copy(p.cells[0].of(row), line)
		case p.StrideW == 2 && len(p.cells) == 2:
			kr.split(p.cells[0].of(row), p.cells[1].of(row), line)
		default:
			for x, c := range p.cells {
				for i := range c.of(row) {
					c.of(row)[i] = line[x+i*p.StrideW]
				}
			}
		}
	}
}

// putTogether is the inverse of takeApart; cells that no window reaches become 0.
func (p *poolShape) putTogether(kr *kernels, plane, phases []float32) {
	if p.StrideH == 1 && p.StrideW == 1 && len(p.lines) == p.height && p.taken == p.width {
		copyPlane(kr, plane, p.width, phases[p.lines[0]+p.cells[0].from:], p.wide, p.height, p.width)
		return
	}
	for y, at := range p.lines {
		row, line := phases[at:], plane[y*p.width:][:p.taken]
		switch {
		case p.StrideW == 1:
			copy(line, p.cells[0].of(row))
		case p.StrideW == 2 && len(p.cells) == 2:
			kr.merge(line, p.cells[0].of(row), p.cells[1].of(row))
		default:
			for x, c := range p.cells {
				for i, v := range c.of(row) {
					line[x+i*p.StrideW] = v
				}
			}
		}
		clear(plane[y*p.width+p.taken : (y+1)*p.width])
	}
	clear(plane[len(p.lines)*p.width : p.height*p.width])
}

// pack and spread move the results of windows between their run and a tensor.
func (p *poolShape) pack(kr *kernels, dst, run []float32) {
	copyPlane(kr, dst, p.cols, run, p.wide, p.rows, p.cols)
}

func (p *poolShape) spread(kr *kernels, run, src []float32) {
	copyPlane(kr, run, p.wide, src, p.cols, p.rows, p.cols)
}

func copyPlane(kr *kernels, dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	if cols <= kr.nr {
		kr.copyRows(dst, dstStride, src, srcStride, rows, cols, cols)
		return
	}
	for r := range rows {
		copy(dst[r*dstStride:][:cols], src[r*srcStride:])
	}
}

// eachGroup calls do for groups of planes, with a buffer of size numbers.
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
