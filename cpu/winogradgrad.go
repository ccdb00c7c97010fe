package cpu

// winogradGrad is the gradient of the weights of a convolution: by the
// transposition of Winograd's algorithm, with the tiles as terms,
// dw = G^T (sum over tiles of (B^T x) * (A dy)), for squares on both sides.
//
// A round transforms some hundred tiles of x and dy, then adds the products, one
// a point, to the sums.
type winogradGrad struct {
	form    winogradForm
	points  int
	x, dy   tileSource
	grid    tileGrid
	in, out int

	tiles            int // of a round
	columns          int // of the sums: out to whole panels
	width            int // of a tile of x: channels to an odd number of vectors
	xStride, dStride int // between the points of a round's tiles
	sumStride        int
	xs, ds, sums     []float32
}

const (
	roundSize  = 4 << 20 // numbers that are transformed in a round, about
	roundDepth = 256     // terms at a time, about
)

// convGradFilters is the gradient of weights of a convolution of the form f.
func (e *Engine) convGradFilters(f winogradForm, c convShape, dw, dy, x []float32) {
	kr, grid := e.kernels, f.grid(c.images, c.rows, c.cols)
	w := winogradGrad{
		form: f, points: f.points(), grid: grid, in: c.in, out: c.out, x: f.source(c.maps(x), grid, c.PadH, c.PadW),
		dy: f.gradientSource(c.gradientMaps(dy), grid),
	}
	lines := w.plan(kr)
	w.xs, w.ds = grow(&e.scratch.first, w.points*w.xStride), grow(&e.scratch.second, w.points*w.dStride)
	w.sums = grow(&e.scratch.third, w.points*w.sumStride)
	inBlocks, outBlocks, panels := ceilDiv(w.in, kr.vec), ceilDiv(w.out, kr.vec), w.columns/kr.nr
	group := max(1, 2*kr.mr/grid.across) // lines of an item
	// Whole products read the least; what is added up does not depend on it.
	parts := min(panels, ceilDiv(4*e.pool.threads, w.points))
	for from := 0; from < grid.lines(); from += lines {
		to := min(from+lines, grid.lines())
		blocks := inBlocks + outBlocks
		e.pool.run(ceilDiv(to-from, group)*blocks, func(worker, i int) {
			line := from + i/blocks*group
			w.transform(kr, &e.scratch.workers[worker], from, line, min(line+group, to), i%blocks)
		})
		e.pool.run(w.points*parts, func(_, i int) {
			part := i % parts
			w.multiply(kr, i/parts, panels*part/parts, panels*(part+1)/parts, (to-from)*grid.across, from > 0)
		})
	}
	e.pool.run(outBlocks, func(worker, i int) { w.store(kr, &e.scratch.workers[worker], dw, i*kr.vec) })
}

// plan returns the lines of tiles of a round.
func (w *winogradGrad) plan(kr *kernels) int {
	w.columns = roundUp(w.out, kr.nr)
	w.width = (ceilDiv(w.in, kr.vec) | 1) * kr.vec
	across, all := w.grid.across, w.grid.lines()
	lines := max(1, roundSize/(w.points*(w.width+w.columns)*across))
	lines = ceilDiv(all, ceilDiv(all, lines))
	w.tiles = lines * across
	w.xStride = w.tiles*w.width + apartBy*kr.vec
	w.dStride = w.tiles*w.columns + apartBy*kr.vec
	w.sumStride = w.in*w.columns + apartBy*kr.vec
	return lines
}

// transform transforms a block of channels, of x or after these of dy, of lines
// [line, end) in the round that starts at line first. Tiles of x lie channel
// beside channel, those of dy in panels of kr.nr channels.
func (w *winogradGrad) transform(kr *kernels, s *workerScratch, first, line, end, block int) {
	tile := (line - first) * w.grid.across
	if n := ceilDiv(w.in, kr.vec); block >= n {
		channel := (block - n) * kr.vec
		to := w.ds[channel/kr.nr*w.tiles*kr.nr+tile*kr.nr+channel%kr.nr:]
		w.dy.transform(kr, s, to, w.dStride, kr.nr, line, end, channel)
		return
	}
	channel := block * kr.vec
	w.x.transform(kr, s, w.xs[tile*w.width+channel:], w.xStride, w.width, line, end, channel)
}

// multiply adds panels [first, last) of one of the products to its sums,
// (in, columns).
func (w *winogradGrad) multiply(kr *kernels, i, first, last, tiles int, add bool) {
	depth := ceilDiv(tiles, ceilDiv(tiles, roundDepth))
	for t := 0; t < tiles; t += depth {
		n := min(depth, tiles-t)
		for p := first; p < last; p++ {
			sums := w.sums[i*w.sumStride+p*kr.nr:]
			xs, ds := w.xs[i*w.xStride+t*w.width:], w.ds[i*w.dStride+(p*w.tiles+t)*kr.nr:]
			kernels := kr.tiles[ceilDiv(min(kr.nr, w.out-p*kr.nr), kr.vec)-1]
			for c := 0; c < w.in; c += kr.mr {
				to := sums[c*w.columns:]
				var before []float32
				if add || t > 0 {
					before = to
				}
				kernels[min(kr.mr, w.in-c)](to, w.columns, before, w.columns, xs[c:], w.width, ds, kr.nr, n, nil, nil, nil, 0, 0)
			}
		}
	}
}

// store transforms the sums of up to kr.vec results back into filters.
func (w *winogradGrad) store(kr *kernels, s *workerScratch, dw []float32, result int) {
	terms := w.in * w.form.taps()
	size := terms * kr.vec
	buf := grow(&s.rows, size+w.points*kr.vec)
	w.form.filtersBack(kr, buf, w.sums[result:], w.sumStride, w.columns, w.in, buf[size:])
	kr.transpose(dw[result*terms:], terms, buf, kr.vec, terms, min(kr.vec, w.out-result), terms)
}
