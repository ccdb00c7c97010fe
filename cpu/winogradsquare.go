package cpu

// squareForm is F(4x4, 3x3): a tile of 4 x 4 results is
// A^T ((G w G^T) * (B^T x B)) A.
type squareForm struct{}

const taps36 = 36 // points of a square

func (squareForm) points() int { return taps36 }

func (squareForm) taps() int { return 9 }

func (squareForm) grid(images, rows, cols int) tileGrid {
	return tileGrid{images, ceilDiv(rows, 4), ceilDiv(cols, 4)}
}

func (squareForm) source(maps featureMaps, grid tileGrid, padY, padX int) tileSource {
	return &squareSource{featureMaps: maps, tileGrid: grid, size: 6, padY: padY, padX: padX}
}

func (squareForm) gradientSource(maps featureMaps, grid tileGrid) tileSource {
	return &squareSource{featureMaps: maps, tileGrid: grid, size: 4}
}

func (squareForm) filters(kr *kernels, dst []float32, stride, next int, src []float32, channels int, tmp []float32) {
	kr.winograd.filtersIn(dst, stride, next, src, 3*kr.vec, 9*kr.vec, channels, tmp)
}

func (squareForm) filtersBack(kr *kernels, dst []float32, src []float32, stride, next, channels int, tmp []float32) {
	kr.winograd.filtersOut(dst, 3*kr.vec, 9*kr.vec, src, stride, next, channels, tmp)
}

// squareSource reads squares of size x size cells, 4 apart, the first pad cells
// before the map: of 6 of x, of 4 of gradients.
type squareSource struct {
	featureMaps
	tileGrid   tileGrid
	size       int
	padY, padX int
}

func (t *squareSource) transform(kr *kernels, s *workerScratch, dst []float32, stride, next, line, end, channel int) {
	f := kr.winograd.tilesIn
	if t.size == 4 {
		f = kr.winograd.gradientsIn
	}
	over, across := t.size-4, t.tileGrid.across
	pitch := (4*across + over) * kr.vec
	t.tileGrid.segments(line, end, func(image, from, to, at int) {
		height := 4*(to-from) + over
		buf := grow(&s.rows, height*pitch+taps36*kr.vec)
		for r := range height {
			t.row(kr, buf[r*pitch:(r+1)*pitch], image, channel, 4*from-t.padY+r, t.padX)
		}
		for r := range to - from {
			f(dst[(at+r*across)*next:], stride, next, buf[4*r*pitch:], pitch, 4*kr.vec, across, buf[height*pitch:])
		}
	})
}

func (squareForm) store(kr *kernels, s *workerScratch, w *winograd, sums []float32, stride, channel, vectors, image, from, to int) {
	for v := range vectors {
		w.storeSquares(kr, s, sums[v*kr.vec:], stride, channel+v*kr.vec, image, from, to)
	}
}

// storeSquares stores up to kr.vec channels.
func (w *winograd) storeSquares(kr *kernels, s *workerScratch, sums []float32, stride, channel, image, from, to int) {
	across := w.grid.across
	pitch := 4 * across * kr.vec
	height := min(4*(to-from), w.rows-4*from)
	size, n := 4*(to-from)*pitch, height*w.cols
	channels := min(kr.vec, w.out-channel)
	buf := grow(&s.rows, size+channels*n+taps36*kr.vec)
	block, tmp := buf[size:][:channels*n], buf[size+channels*n:]
	direct, ends := w.sink.byChannel(), []float32(nil)
	if direct {
		ends = w.sink.ends(kr, s, channel, channels)
	}
	for r := range to - from {
		kr.winograd.tilesOut(buf[4*r*pitch:], pitch, 4*kr.vec, sums[r*across*kr.nr:], stride, kr.nr, across, tmp, ends)
	}
	ld, dst := n, block
	if direct {
		ld, dst = w.sink.rowStride, w.sink.v[w.sink.offset+image*w.sink.grid.imageStride+channel*w.sink.rowStride+4*from*w.cols:]
	}
	if 4*across == w.cols {
		kr.transpose(dst, ld, buf, kr.vec, n, channels, n)
	} else {
		for r := range height {
			kr.transpose(dst[r*w.cols:], ld, buf[r*pitch:], kr.vec, w.cols, channels, w.cols)
		}
	}
	if !direct {
		w.sink.store(kr, block, n, channel, channels, (image*w.rows+4*from)*w.cols, n)
	}
}
