package cpu

// winograd is a convolution. Tiles are the rows of the products, in blocks of a
// vector of channels, and results lie along the columns. An item of work
// transforms a few lines of tiles and keeps all that lies between x and y in the
// second-level cache.
type winograd struct {
	x               tileSource
	out, rows, cols int // y
	sink            sink

	blocks, panels   int // of the filters: vectors of channels of x, panels of out
	lines            int // of tiles in a group
	filters          []float32
	filterStride     int
	tileStride, next int // of transformed tiles: between the 36, and the blocks
}

// cachedTiles is how many numbers of a group's transformed tiles stay cached.
const cachedTiles = 192 << 10

func (w *winograd) plan(kr *kernels) {
	w.blocks, w.panels = ceilDiv(w.x.channels, kr.vec), ceilDiv(w.out, kr.nr)
	lines, across := w.x.tileGrid.lines(), w.x.tileGrid.across
	w.lines = ceilDiv(lines, ceilDiv(lines, max(1, groupTiles(lines*across, w.blocks*kr.vec, kr.mr)/across)))
	w.next = w.lines * across * kr.vec
	w.tileStride = w.blocks*w.next + apartBy*kr.vec
	w.filterStride = w.panels*w.blocks*kr.vec*kr.nr + apartBy*kr.vec
}

// groupTiles is about how many of so many tiles are transformed at a time. They
// stay in the second-level cache while the filters pass by, which takes few tiles
// of many channels; where there are few in all they share the filters instead.
func groupTiles(tiles, channels, mr int) int {
	if tiles/(2*mr) < minItems/2 {
		return 5 * mr
	}
	n := min(4*mr, max(2*mr, cachedTiles/(taps36*channels)))
	if tiles/n < minItems/2 {
		n = 2 * mr
	}
	return n
}

// convolve runs w. pack brings the filters of a block of kr.vec results into the
// order (in, 9, result).
func (e *Engine) convolve(w *winograd, pack func(dst []float32, result, count int)) {
	kr := e.kernels
	w.plan(kr)
	w.filters = grow(&e.scratch.first, taps36*w.filterStride)
	e.pool.run(ceilDiv(w.out, kr.vec), func(worker, i int) {
		w.packFilters(kr, &e.scratch.workers[worker], i*kr.vec, pack)
	})
	groups := ceilDiv(w.x.tileGrid.lines(), w.lines)
	if groups >= minItems/2 {
		e.pool.run(groups, func(worker, g int) {
			s := &e.scratch.workers[worker]
			tiles := grow(&s.left, taps36*w.tileStride)
			for b := range w.blocks {
				w.tiles(kr, s, tiles, g, b)
			}
			for p := range w.panels {
				w.panel(kr, s, tiles, g, p)
			}
		})
		return
	}
	// Few groups share their work.
	size := taps36 * w.tileStride
	tiles := grow(&e.scratch.second, groups*size)
	e.pool.run(groups*w.blocks, func(worker, i int) {
		g, b := i/w.blocks, i%w.blocks
		w.tiles(kr, &e.scratch.workers[worker], tiles[g*size:], g, b)
	})
	e.pool.run(groups*w.panels, func(worker, i int) {
		g, p := i/w.panels, i%w.panels
		w.panel(kr, &e.scratch.workers[worker], tiles[g*size:], g, p)
	})
}

// packFilters transforms the filters of up to kr.vec results from result on.
func (w *winograd) packFilters(kr *kernels, s *workerScratch, result int, pack func(dst []float32, result, count int)) {
	size := w.x.channels * 9 * kr.vec
	buf := grow(&s.rows, size+taps36*kr.vec)
	pack(buf, result, min(kr.vec, w.out-result))
	to := w.filters[result/kr.nr*w.blocks*kr.vec*kr.nr+result%kr.nr:]
	kr.winograd.filtersIn(to, w.filterStride, kr.nr, buf, 3*kr.vec, 9*kr.vec, w.x.channels, buf[size:])
	for c := w.x.channels; c < w.blocks*kr.vec; c++ {
		for t := range taps36 {
			clear(to[t*w.filterStride+c*kr.nr:][:kr.vec])
		}
	}
}

// group returns the lines of a group.
func (w *winograd) group(g int) (line, end int) {
	return g * w.lines, min((g+1)*w.lines, w.x.tileGrid.lines())
}

// tiles transforms block b of the channels of a group: the lanes of tile t are
// tiles[i*tileStride + b*next + t*kr.vec:].
func (w *winograd) tiles(kr *kernels, s *workerScratch, tiles []float32, g, b int) {
	line, end := w.group(g)
	w.x.transform(kr, s, tiles[b*w.next:], w.tileStride, kr.vec, line, end, b*kr.vec)
}

// panel multiplies the tiles of a group by a panel of filters and stores the
// results.
func (w *winograd) panel(kr *kernels, s *workerScratch, tiles []float32, g, panel int) {
	line, end := w.group(g)
	first := panel * kr.nr
	vectors := ceilDiv(min(kr.nr, w.out-first), kr.vec)
	count := (end - line) * w.x.tileGrid.across
	stride := count*kr.nr + apartBy*kr.vec
	sums := grow(&s.block, taps36*stride)
	kernels := kr.winograd.rows[vectors-1]
	size := w.blocks * kr.vec * kr.nr
	for i := range taps36 {
		filters := w.filters[i*w.filterStride+panel*size:]
		for t := 0; t < count; t += kr.mr {
			kernels[min(kr.mr, count-t)](sums[i*stride+t*kr.nr:], kr.nr, tiles[i*w.tileStride+t*kr.vec:], w.next, filters, w.blocks)
		}
	}
	for v := range vectors {
		w.x.tileGrid.segments(line, end, func(image, from, to, at int) {
			w.store(kr, s, sums[at*kr.nr+v*kr.vec:], stride, first+v*kr.vec, image, from, to)
		})
	}
}

// store brings sums, rows [from, to) of tiles of an image and up to kr.vec
// channels, back into the map.
func (w *winograd) store(kr *kernels, s *workerScratch, sums []float32, stride, channel, image, from, to int) {
	across := w.x.tileGrid.across
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
