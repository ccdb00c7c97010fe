package cpu

import "math"

// pool3Kernels pool windows of 3 columns of maps where they lie, without taking planes
// apart. They are nil in variants whose vectors have no cheap masks.
type pool3Kernels struct {
	// max and sum merge the 3 x 3 cells around every cell of a plane (height, width).
	max, sum func(dst, src []float32, height, width int)
	// maxRow sets dst to the maxima of windows of rows rows and 3 columns, 2 apart, of
	// which the first begins pad <= 1 cells before the row; cells outside are -Inf.
	maxRow func(dst, src []float32, width, rows, pad int)
	// maxRowGrad adds the gradients dy of such windows, one for each number of dy, to
	// the first cell by rows that is not less than the window's maximum y.
	maxRowGrad func(dx, dy, x, y []float32, width, rows, pad int)
}

// around reports whether the windows are the 3 x 3 cells around every cell.
func (p *poolShape) around() bool {
	return p.KernelH == 3 && p.KernelW == 3 && p.StrideH == 1 && p.StrideW == 1 && p.PadH == 1 && p.PadW == 1 &&
		p.rows == p.height && p.cols == p.width
}

// alternate reports whether windows have 3 columns, 2 apart.
func (p *poolShape) alternate() bool { return p.KernelW == 3 && p.StrideW == 2 && p.PadW <= 1 }

// whole reports whether there is one window, the whole plane.
func (p *poolShape) whole() bool {
	return p.KernelH == p.height && p.KernelW == p.width && p.rows == 1 && p.cols == 1 && p.PadH == 0 && p.PadW == 0
}

// reach returns the first row of cells of a row of windows, and their number.
func (p *poolShape) reach(row int) (from, rows int) {
	first := row*p.StrideH - p.PadH
	from = max(first, 0)
	return from, min(first+p.KernelH, p.height) - from
}

// eachPlane calls do with the places of each plane of x and y.
func (e *Engine) eachPlane(p *poolShape, do func(buf []float32, x, y int)) {
	area, windows := p.height*p.width, p.rows*p.cols
	e.eachGroup(p, windows, func(buf []float32, from, to int) {
		for i := from; i < to; i++ {
			do(buf, i*area, i*windows)
		}
	})
}

// maxRows is MaxPool of windows of 3 columns, 2 apart.
func (e *Engine) maxRows(p *poolShape, y, x []float32) {
	kr := e.kernels
	e.eachPlane(p, func(_ []float32, from, to int) {
		for r := range p.rows {
			row := y[to+r*p.cols:][:p.cols]
			if at, n := p.reach(r); n > 0 {
				kr.pool3.maxRow(row, x[from+at*p.width:], p.width, n, p.PadW)
			} else {
				fill(row, float32(math.Inf(-1)))
			}
		}
	})
}

// maxRowsGrad is MaxPoolGrad of windows of 3 columns, 2 apart.
func (e *Engine) maxRowsGrad(p *poolShape, dx, dy, x, y []float32) {
	kr, area, windows := e.kernels, p.height*p.width, p.rows*p.cols
	e.eachPlane(p, func(_ []float32, from, to int) {
		grads, cells := dx[from:from+area], x[from:from+area]
		up, maxima := dy[to:to+windows], y[to:to+windows]
		if !kr.finite(maxima) {
			p.routeByPlace(grads, up, cells)
			return
		}
		clear(grads)
		for r := range p.rows {
			if at, n := p.reach(r); n > 0 {
				kr.pool3.maxRowGrad(grads[at*p.width:], up[r*p.cols:][:p.cols], cells[at*p.width:], maxima[r*p.cols:], p.width, n, p.PadW)
			}
		}
	})
}
