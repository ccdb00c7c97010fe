package cpu

import "math"

// sink is where a product's blocks go: row i and column j of the result belong
// at v[offset + i*rowStride + place(j)], where the columns run through images,
// and in each through a grid of positions. The value stored is
// act(s*scale[i] + shift[i] + residual).
type sink struct {
	v                 []float32
	offset, rowStride int
	grid              grid
	scale, shift      []float32 // by row, or nil
	// residual has the places of v, bias one value a column; where there is a bias there is
	// no scale, no shift and no ceiling.
	residual, bias []float32
	// ceiling bounds to [0, ceiling] unless it is 0; ReLU has +Inf.
	ceiling float32
}

// grid says where columns lie: height x width positions an image, rowPitch and
// colPitch apart.
type grid struct {
	height, width      int
	imageStride        int
	rowPitch, colPitch int
}

// row is a grid of n columns beside each other.
func row(n int) grid { return grid{height: 1, width: n, colPitch: 1} }

// planeGrid is that of whole maps of channels, area positions each.
func planeGrid(channels, area int) grid {
	return grid{height: 1, width: area, imageStride: channels * area, colPitch: 1}
}

// joined treats rows that lie end to end as one.
func (g grid) joined() grid {
	if g.colPitch == 1 && g.rowPitch == g.width || g.height == 1 {
		g.width *= g.height
		g.height, g.rowPitch = 1, 0
	}
	return g
}

// store writes a finished block. ld is the distance of its rows.
func (s *sink) store(kr *kernels, block []float32, ld, row, rows, col, cols int) {
	s.runs(col, cols, func(done, n, place int) {
		for r := range rows {
			s.segment(kr, block[r*ld+done:][:n], place+(row+r)*s.rowStride, row+r, col+done)
		}
	})
}

// byChannel reports whether what is done with a sum depends on its row alone,
// and each row of an image is one run.
func (s *sink) byChannel() bool {
	capped := s.ceiling > 0 && !math.IsInf(float64(s.ceiling), 1)
	return s.residual == nil && s.bias == nil && !capped && s.grid.height == 1 && s.grid.colPitch == 1
}

// ends returns, for rows [row, row+rows), the vectors of scale, shift and least
// value, or nil if sums are stored as they are.
func (s *sink) ends(kr *kernels, w *workerScratch, row, rows int) []float32 {
	if s.scale == nil && s.shift == nil && s.ceiling == 0 {
		return nil
	}
	ends := grow(&w.right, 3*kr.vec)
	scale, shift, least := ends[:kr.vec], ends[kr.vec:2*kr.vec], ends[2*kr.vec:]
	fill(scale, 1)
	if s.scale != nil {
		copy(scale, s.scale[row:row+rows])
	}
	clear(shift)
	if s.shift != nil {
		copy(shift, s.shift[row:row+rows])
	}
	fill(least, float32(math.Inf(-1)))
	if s.ceiling != 0 {
		clear(least)
	}
	return ends
}

// plane returns where to put sums of rows from row on, the columns of an image
// from at on: v itself if byChannel, or else block, whose rows are n long.
func (s *sink) plane(block []float32, n, image, row, at int) (dst []float32, ld int) {
	if !s.byChannel() {
		return block, n
	}
	return s.v[s.offset+image*s.grid.imageStride+row*s.rowStride+at:], s.rowStride
}

// finish ends n columns from col on, whose sums are where plane said.
func (s *sink) finish(kr *kernels, block []float32, col, n, row, rows int) {
	if !s.byChannel() {
		s.store(kr, block, n, row, rows, col, n)
		return
	}
	if s.scale == nil && s.shift == nil && s.ceiling == 0 {
		return
	}
	place := s.offset + col/s.grid.width*s.grid.imageStride + col%s.grid.width
	for r := row; r < row+rows; r++ {
		s.end(kr, s.v[place+r*s.rowStride:][:n], s.v[place+r*s.rowStride:][:n], nil, r)
	}
}

// run returns where columns [col, col+cols) lie beside each other in row 0, or
// -1.
func (s *sink) run(col, cols int) int {
	g := s.grid
	image, at := col/(g.height*g.width), col%(g.height*g.width)
	if g.colPitch != 1 || at%g.width+cols > g.width {
		return -1
	}
	return s.offset + image*g.imageStride + at/g.width*g.rowPitch + at%g.width
}

// splits reports whether columns lie in runs beside each other, and what is added to
// them in the same places.
func (s *sink) splits() bool { return s.grid.colPitch == 1 && s.bias == nil }

// runs calls do for the parts of columns [col, col+cols) that lie beside each other:
// count columns, done after the first, at v[place] in row 0.
func (s *sink) runs(col, cols int, do func(done, count, place int)) {
	g := s.grid
	for done := 0; done < cols; {
		image, at := (col+done)/(g.height*g.width), (col+done)%(g.height*g.width)
		y, x := at/g.width, at%g.width
		n := min(cols-done, g.width-x)
		do(done, n, s.offset+image*g.imageStride+y*g.rowPitch+x*g.colPitch)
		done += n
	}
}

// tile returns what a tile at the place of a run and a row has to do.
func (s *sink) tile(place, row int) (scale, shift, residual []float32, ldr int) {
	if s.scale != nil {
		scale = s.scale[row:]
	}
	if s.shift != nil {
		shift = s.shift[row:]
	}
	if s.residual != nil {
		residual, ldr = s.residual[place+row*s.rowStride:], s.rowStride
	}
	return scale, shift, residual, ldr
}

// segment writes adjacent columns of row i from place on.
func (s *sink) segment(kr *kernels, sums []float32, place, i, col int) {
	n := len(sums)
	if s.grid.colPitch != 1 {
		for j, x := range sums {
			s.v[place+j*s.grid.colPitch] = x
		}
		return
	}
	y := s.v[place : place+n]
	var residual []float32
	if s.bias != nil {
		kr.add(sums, sums, s.bias[col:col+n])
	}
	if s.residual != nil {
		residual = s.residual[place : place+n]
	}
	if s.scale == nil && s.shift == nil && residual == nil && s.ceiling == 0 {
		copy(y, sums)
		return
	}
	s.end(kr, y, sums, residual, i)
}

// end sets y to what becomes of sums of row i.
func (s *sink) end(kr *kernels, y, sums, residual []float32, i int) {
	scale, shift := float32(1), float32(0)
	if s.scale != nil {
		scale = s.scale[i]
	}
	if s.shift != nil {
		shift = s.shift[i]
	}
	kr.affine(y, sums, residual, 0, scale, shift, s.ceiling)
}
