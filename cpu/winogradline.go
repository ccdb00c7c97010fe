package cpu

// lineForm is F(m, r) for kernels of r taps along a row or, if down is set, a
// column: a tile of m results beside each other is A^T ((G w) * (B^T x)), with
// m + r - 1 points instead of m*r multiplications.
//
// The transforms are products with small matrices. Maps lie with places along the
// tiles as rows, and as columns the other places with their lanes, so that the
// kernels of other products do them.
type lineForm struct {
	down bool
	m, r int
	in   lineMatrix // B^T (points, points)
	out  lineMatrix // A^T (m, points)
	grad lineMatrix // A (points, m)
	g    lineMatrix // G (points, r)
	back lineMatrix // G^T (r, points)
}

// The forms of kernels along rows and columns, by their taps.
var lineForms, columnForms = newLineForms(false), newLineForms(true)

func newLineForms(down bool) map[int]*lineForm {
	// The places of 7 taps had the smallest errors of some thousand that were tried.
	places := map[int][]float64{
		3: {0, -inner, inner, -outer, outer},
		7: {0, -0.375, 0.375, -0.75, 0.75, -1.375, 1.375, -2.25, 2.25},
	}
	forms := map[int]*lineForm{}
	for r, points := range places {
		m := len(points) + 2 - r // one more point is infinity
		at, g, bt := toomCook(points, m, r)
		forms[r] = &lineForm{
			down: down, m: m, r: r,
			in: newLineMatrix(bt), out: newLineMatrix(at), grad: newLineMatrix(transposed(at)),
			g: newLineMatrix(g), back: newLineMatrix(transposed(g)),
		}
	}
	return forms
}

func (f *lineForm) points() int { return f.m + f.r - 1 }

func (f *lineForm) taps() int { return f.r }

func (f *lineForm) grid(images, rows, cols int) tileGrid {
	if f.down {
		return tileGrid{images, cols, ceilDiv(rows, f.m)}
	}
	return tileGrid{images, rows, ceilDiv(cols, f.m)}
}

func (f *lineForm) source(maps featureMaps, grid tileGrid, padY, padX int) tileSource {
	pad := padX
	if f.down {
		pad = padY
	}
	return &lineSource{featureMaps: maps, grid: grid, down: f.down, step: f.m, pad: pad, f: f.in}
}

func (f *lineForm) gradientSource(maps featureMaps, grid tileGrid) tileSource {
	return &lineSource{featureMaps: maps, grid: grid, down: f.down, step: f.m, f: f.grad}
}

func (f *lineForm) filters(kr *kernels, dst []float32, stride, next int, src []float32, channels int, _ []float32) {
	for c := range channels {
		f.g.times(kr, dst[c*next:], stride, src[c*f.r*kr.vec:], kr.vec, kr.vec)
	}
}

func (f *lineForm) filtersBack(kr *kernels, dst []float32, src []float32, stride, next, channels int, _ []float32) {
	for c := range channels {
		f.back.times(kr, dst[c*f.r*kr.vec:], kr.vec, src[c*next:], stride, kr.vec)
	}
}

// lineSource reads tiles of as many cells as f has columns, step apart, the first
// pad cells before the map.
type lineSource struct {
	featureMaps
	grid      tileGrid
	down      bool
	step, pad int
	f         lineMatrix
}

// transform orders the tiles of a segment by their place, and then by line.
func (t *lineSource) transform(kr *kernels, s *workerScratch, dst []float32, stride, next, line, end, channel int) {
	length := t.step*(t.grid.across-1) + t.f.cols
	t.grid.segments(line, end, func(image, from, to, at int) {
		count := to - from
		pitch := count * kr.vec
		buf := grow(&s.rows, length*pitch)
		t.read(kr, buf, image, channel, from, count, length)
		for a := range t.grid.across {
			tiles, cells := dst[(at+a*count)*next:], buf[a*t.step*pitch:]
			if next == kr.vec {
				t.f.times(kr, tiles, stride, cells, pitch, pitch)
				continue
			}
			for l := range count {
				t.f.times(kr, tiles[l*next:], stride, cells[l*kr.vec:], pitch, kr.vec)
			}
		}
	})
}

// read sets the rows of buf to length places along lines [from, from+count) of an
// image.
func (t *lineSource) read(kr *kernels, buf []float32, image, channel, from, count, length int) {
	area, pitch := t.height*t.width, count*kr.vec
	src := t.v[(image*t.channels+channel)*area:]
	channels := min(kr.vec, t.channels-channel)
	size := t.width
	if t.down {
		size = t.height
	}
	n := min(size, length-t.pad)
	clear(buf[:t.pad*pitch])
	clear(buf[(t.pad+n)*pitch : length*pitch])
	inside := buf[t.pad*pitch:]
	if t.down {
		for y := range n {
			kr.transpose(inside[y*pitch:], kr.vec, src[y*t.width+from:], area, channels, count, kr.vec)
		}
		return
	}
	for l := range count {
		kr.transpose(inside[l*kr.vec:], pitch, src[(from+l)*t.width:], area, channels, n, kr.vec)
	}
}

func (f *lineForm) store(kr *kernels, s *workerScratch, w *winograd, sums []float32, stride, channel, vectors, image, from, to int) {
	across, count := w.grid.across, to-from
	pitch := count * kr.nr
	length := w.cols
	if f.down {
		length = w.rows
	}
	size, n := f.m*across*pitch, length*count
	buf := grow(&s.rows, size+kr.vec*n)
	out, block := buf[:size], buf[size:]
	for a := range across {
		f.out.times(kr, out[a*f.m*pitch:], pitch, sums[a*pitch:], stride, pitch)
	}
	for v := range vectors {
		first := channel + v*kr.vec
		channels := min(kr.vec, w.out-first)
		lanes := out[v*kr.vec:]
		if f.down && count < w.cols {
			for y := range length {
				at := y*w.cols + from
				dst, ld := w.sink.plane(block, count, image, first, at)
				kr.transpose(dst, ld, lanes[y*pitch:], kr.nr, count, channels, count)
				w.sink.finish(kr, block, image*w.rows*w.cols+at, count, first, channels)
			}
			continue
		}
		at := from * length // 0 of a column
		dst, ld := w.sink.plane(block, n, image, first, at)
		if f.down {
			kr.transpose(dst, ld, lanes, kr.nr, n, channels, n)
		} else {
			for l := range count {
				kr.transpose(dst[l*length:], ld, lanes[l*kr.nr:], pitch, length, channels, length)
			}
		}
		w.sink.finish(kr, block, image*w.rows*w.cols+at, n, first, channels)
	}
}

// lineMatrix is a small matrix, by columns.
type lineMatrix struct {
	rows, cols int
	v          []float32
}

// times sets dst (rows, n) to the product with src (cols, n), whose rows are ldd
// and lds apart. n is a multiple of kr.vec.
func (m *lineMatrix) times(kr *kernels, dst []float32, ldd int, src []float32, lds, n int) {
	for c := 0; c < n; c += kr.nr {
		tiles := kr.tiles[min(kr.nr, n-c)/kr.vec-1]
		for r := 0; r < m.rows; r += kr.mr {
			tiles[min(kr.mr, m.rows-r)](dst[r*ldd+c:], ldd, nil, 0, m.v[r:], m.rows, src[c:], lds, m.cols, nil, nil, nil, 0, 0)
		}
	}
}

func newLineMatrix(rows [][]float64) lineMatrix {
	m := lineMatrix{rows: len(rows), cols: len(rows[0])}
	for c := range m.cols {
		for r := range m.rows {
			m.v = append(m.v, float32(rows[r][c]))
		}
	}
	return m
}
