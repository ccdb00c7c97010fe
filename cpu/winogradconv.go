package cpu

// winograd is a convolution. Tiles are the rows of the products, in blocks of a
// vector of channels, and results lie along the columns. An item of work
// transforms a few lines of tiles and keeps all that lies between x and y in the
// second-level cache.
type winograd struct {
	form            winogradForm
	x               tileSource
	grid            tileGrid
	in              int // channels of x
	out, rows, cols int // y
	sink            sink
	weights         view // whose filters may be kept; empty if they may not

	blocks, panels   int // of the filters: vectors of channels of x, panels of out
	lines            int // of tiles in a group
	filters          []float32
	filterStride     int
	tileStride, next int // of transformed tiles: between the points, and the blocks
}

// cachedTiles is how many numbers of a group's transformed tiles stay cached.
const cachedTiles = 192 << 10

func (w *winograd) plan(kr *kernels) {
	w.blocks, w.panels = ceilDiv(w.in, kr.vec), ceilDiv(w.out, kr.nr)
	lines, across := w.grid.lines(), w.grid.across
	w.lines = ceilDiv(lines, ceilDiv(lines, max(1, groupTiles(lines*across, w.form.points()*w.blocks*kr.vec, kr.mr)/across)))
	w.next = w.lines * across * kr.vec
	w.tileStride = w.blocks*w.next + apartBy*kr.vec
	w.filterStride = w.panels*w.blocks*kr.vec*kr.nr + apartBy*kr.vec
}

// groupTiles is about how many of tiles tiles, of numbers numbers each, are
// transformed at a time. They
// stay in the second-level cache while the filters pass by, which takes few tiles
// of many channels; where there are few in all they share the filters instead.
func groupTiles(tiles, numbers, mr int) int {
	if tiles/(2*mr) < minItems/2 {
		return 5 * mr
	}
	n := min(4*mr, max(2*mr, cachedTiles/numbers))
	if tiles/n < minItems/2 {
		n = 2 * mr
	}
	return n
}

// convolve runs w. pack brings the filters of a block of kr.vec results into the
// order (in, taps, result).
func (e *Engine) convolve(w *winograd, pack func(dst []float32, result, count int)) {
	kr, points := e.kernels, w.form.points()
	w.plan(kr)
	transform := func(dst []float32) {
		w.filters = dst
		e.pool.run(ceilDiv(w.out, kr.vec), func(worker, i int) {
			w.packFilters(kr, &e.scratch.workers[worker], i*kr.vec, pack)
		})
	}
	size := points * w.filterStride
	if size <= keepFilters {
		w.filters = e.kept(w.weights, packing{form: w.form, lines: w.out, deep: w.in}, size, transform)
	}
	if w.filters == nil {
		transform(grow(&e.scratch.first, size))
	}
	groups := ceilDiv(w.grid.lines(), w.lines)
	if groups >= minItems/2 {
		e.pool.run(groups, func(worker, g int) {
			s := &e.scratch.workers[worker]
			tiles := grow(&s.left, points*w.tileStride)
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
	size = points * w.tileStride
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
	points := w.form.points()
	size := w.in * w.form.taps() * kr.vec
	buf := grow(&s.rows, size+points*kr.vec)
	pack(buf, result, min(kr.vec, w.out-result))
	to := w.filters[result/kr.nr*w.blocks*kr.vec*kr.nr+result%kr.nr:]
	w.form.filters(kr, to, w.filterStride, kr.nr, buf, w.in, buf[size:])
	for c := w.in; c < w.blocks*kr.vec; c++ {
		for t := range points {
			clear(to[t*w.filterStride+c*kr.nr:][:kr.vec])
		}
	}
}

// group returns the lines of a group.
func (w *winograd) group(g int) (line, end int) {
	return g * w.lines, min((g+1)*w.lines, w.grid.lines())
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
	points, count := w.form.points(), (end-line)*w.grid.across
	stride := count*kr.nr + apartBy*kr.vec
	sums := grow(&s.block, points*stride)
	kernels := kr.winograd.rows[vectors-1]
	size := w.blocks * kr.vec * kr.nr
	high := ceilDiv(count, ceilDiv(count, kr.mr)) // rows of a tile
	for i := range points {
		filters := w.filters[i*w.filterStride+panel*size:]
		for t := 0; t < count; t += high {
			kernels[min(high, count-t)](sums[i*stride+t*kr.nr:], kr.nr, tiles[i*w.tileStride+t*kr.vec:], w.next, filters, w.blocks)
		}
	}
	w.grid.segments(line, end, func(image, from, to, at int) {
		w.form.store(kr, s, w, sums[at*kr.nr:], stride, first, vectors, image, from, to)
	})
}
