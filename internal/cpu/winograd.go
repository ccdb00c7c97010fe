package cpu

// winograd is a convolution of 3 x 3 with stride 1 by Winograd's F(4x4, 3x3)
// (Lavin and Gray 2016, Fast algorithms for convolutional neural networks): a
// tile of 4 x 4 results is A^T ((G w G^T) * (B^T x B)) A, with 36 multiplications
// instead of 144, which for all tiles and channels are 36 matrix products.
//
// The lanes of the transforms are channels, so any size of map will do: tiles
// are rows of the products, in blocks of a vector of channels, and results lie
// along the columns. An item of work transforms a few rows of tiles and keeps
// all that lies between x and y in the second-level cache.
type winograd struct {
	x                         []float32
	images, in, height, width int // x
	out, rows, cols           int // y
	padY, padX                int
	sink                      sink

	blocks, panels   int // of the filters: vectors of in, panels of out
	down, across     int // tiles of an image
	lines            int // rows of tiles in a group
	filters          []float32
	filterStride     int
	tileStride, next int // of transformed tiles: between the 36, and the blocks
}

const (
	taps36      = 36
	cachedTiles = 192 << 10 // numbers of a group's transformed tiles that stay cached
	apartBy     = 5         // vectors between the 36, so that they share no cache sets
)

// usesWinograd is the measured rule: the transforms cost about as much as 16
// channels of products on either side, and the filters are transformed once for
// all tiles.
func (c *convShape) usesWinograd() bool {
	return c.KernelH == 3 && c.KernelW == 3 && c.StrideH == 1 && c.StrideW == 1 && c.PadH <= 2 && c.PadW <= 2 &&
		min(c.in, c.out) >= 16 && min(c.rows, c.cols) >= 4 && c.images*ceilDiv(c.rows, 4)*ceilDiv(c.cols, 4) >= 32
}

func (w *winograd) plan(kr *kernels) {
	w.blocks, w.panels = ceilDiv(w.in, kr.vec), ceilDiv(w.out, kr.nr)
	w.down, w.across = ceilDiv(w.rows, 4), ceilDiv(w.cols, 4)
	lines := w.images * w.down
	w.lines = ceilDiv(lines, ceilDiv(lines, max(1, groupTiles(lines*w.across, w.blocks*kr.vec, kr.mr)/w.across)))
	w.next = w.lines * w.across * kr.vec
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
	groups := ceilDiv(w.images*w.down, w.lines)
	if groups >= minItems/2 {
		e.pool.run(groups, func(worker, g int) {
			s := &e.scratch.workers[worker]
			tiles := grow(&s.left, taps36*w.tileStride)
			w.tiles(kr, s, tiles, g, 0, w.blocks)
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
		w.tiles(kr, &e.scratch.workers[worker], tiles[g*size:], g, b, b+1)
	})
	e.pool.run(groups*w.panels, func(worker, i int) {
		g, p := i/w.panels, i%w.panels
		w.panel(kr, &e.scratch.workers[worker], tiles[g*size:], g, p)
	})
}

// packFilters transforms the filters of up to kr.vec results from result on.
func (w *winograd) packFilters(kr *kernels, s *workerScratch, result int, pack func(dst []float32, result, count int)) {
	size := w.in * 9 * kr.vec
	buf := grow(&s.rows, size+taps36*kr.vec)
	pack(buf, result, min(kr.vec, w.out-result))
	to := w.filters[result/kr.nr*w.blocks*kr.vec*kr.nr+result%kr.nr:]
	kr.winograd.filtersIn(to, w.filterStride, kr.nr, buf, 3*kr.vec, 9*kr.vec, w.in, buf[size:])
	for c := w.in; c < w.blocks*kr.vec; c++ {
		for t := range taps36 {
			clear(to[t*w.filterStride+c*kr.nr:][:kr.vec])
		}
	}
}

// segments calls do for the parts of a group that lie in one image: rows
// [from, to) of its tiles, whose first is the tile at of the group.
func (w *winograd) segments(group int, do func(image, from, to, at int)) {
	line, end := group*w.lines, min((group+1)*w.lines, w.images*w.down)
	for at := 0; line < end; {
		image, from := line/w.down, line%w.down
		to := min(w.down, from+end-line)
		do(image, from, to, at)
		line += to - from
		at += (to - from) * w.across
	}
}

// tiles transforms the tiles of a group, blocks [first, last) of their channels:
// the lanes of block b of tile t are tiles[i*tileStride + b*next + t*kr.vec:].
func (w *winograd) tiles(kr *kernels, s *workerScratch, tiles []float32, group, first, last int) {
	pitch := (4*w.across + 2) * kr.vec
	w.segments(group, func(image, from, to, at int) {
		height := 4*(to-from) + 2
		buf := grow(&s.rows, height*pitch+taps36*kr.vec)
		tmp := buf[height*pitch:]
		for b := first; b < last; b++ {
			for r := range height {
				w.mapRow(kr, buf[r*pitch:(r+1)*pitch], image, b*kr.vec, 4*from-w.padY+r)
			}
			for r := range to - from {
				kr.winograd.tilesIn(tiles[b*w.next+(at+r*w.across)*kr.vec:], w.tileStride, kr.vec, buf[4*r*pitch:], pitch, 4*kr.vec, w.across, tmp)
			}
		}
	})
}

// mapRow sets dst to row y of a block of channels, padded on both sides.
func (w *winograd) mapRow(kr *kernels, dst []float32, image, channel, y int) {
	if y < 0 || y >= w.height {
		clear(dst)
		return
	}
	left := w.padX * kr.vec
	n := min(w.width, len(dst)/kr.vec-w.padX)
	clear(dst[:left])
	area := w.height * w.width
	src := w.x[(image*w.in+channel)*area+y*w.width:]
	kr.transpose(dst[left:], kr.vec, src, area, min(kr.vec, w.in-channel), n, kr.vec)
	clear(dst[left+n*kr.vec:])
}

// panel multiplies the tiles of a group by a panel of filters and stores the
// results.
func (w *winograd) panel(kr *kernels, s *workerScratch, tiles []float32, group, panel int) {
	first := panel * kr.nr
	vectors := ceilDiv(min(kr.nr, w.out-first), kr.vec)
	count := min(w.lines, w.images*w.down-group*w.lines) * w.across
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
		w.segments(group, func(image, from, to, at int) {
			w.store(kr, s, sums[at*kr.nr+v*kr.vec:], stride, first+v*kr.vec, image, from, to)
		})
	}
}

// store brings sums, rows [from, to) of tiles of an image and up to kr.vec
// channels, back into the map.
func (w *winograd) store(kr *kernels, s *workerScratch, sums []float32, stride, channel, image, from, to int) {
	pitch := 4 * w.across * kr.vec
	height := min(4*(to-from), w.rows-4*from)
	size, n := 4*(to-from)*pitch, height*w.cols
	channels := min(kr.vec, w.out-channel)
	buf := grow(&s.rows, size+channels*n+taps36*kr.vec)
	block, tmp := buf[size:][:channels*n], buf[size+channels*n:]
	for r := range to - from {
		kr.winograd.tilesOut(buf[4*r*pitch:], pitch, 4*kr.vec, sums[r*w.across*kr.nr:], stride, kr.nr, w.across, tmp)
	}
	ld, dst := n, block
	direct := w.sink.plain()
	if direct {
		ld, dst = w.sink.rowStride, w.sink.v[w.sink.offset+image*w.sink.grid.imageStride+channel*w.sink.rowStride+4*from*w.cols:]
	}
	if 4*w.across == w.cols {
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
