package cpu

// dense is the product y (m, n) = l (m, k) r (k, n) of two matrices, plus bias, one
// value a column, and residual, whose places are those of y, where they are not nil.
//
// Unlike the columns of a convolution both operands are cheap to pack, and each of
// them can be packed as a whole before. The result is cut into blocks that leave the
// sums and the panels being read in the second-level cache; an item of work is a
// block. Nothing of this depends on the number of threads.
type dense struct {
	m, n, k        int
	left, right    matrix
	y              []float32
	bias, residual []float32
	narrow         bool      // the operands are rounded to bfloat16
	kept           []float32 // the right operand as panels of all its terms, or nil
}

const (
	denseRows = 28 // most panels of rows of a block
	denseCols = 12 // most panels of columns

	denseItems   = 12      // blocks that keep several workers evenly busy
	fewItems     = 8       // those of a small product
	smallDense   = 1 << 27 // multiplications of a small one
	sharedPanels = 8 << 20 // largest operand that is packed as a whole, in words
	fewPanels    = 4       // panels of rows that make the reading of a panel of columns worth while
)

// blocks is how a dense product is cut. The panels of each side are spread evenly
// over its blocks.
type blocks struct {
	rows, cols              int // panels
	rowBlocks, colBlocks    int
	depth                   int // terms that are summed at a time
	unit                    int // terms of a word
	sharedLeft, sharedRight bool
}

func (p *dense) blocks(kr *kernels) blocks {
	b := blocks{rows: ceilDiv(p.m, kr.mr), cols: ceilDiv(p.n, kr.nr), unit: 1}
	if p.narrow {
		b.unit = 2
	}
	b.rowBlocks, b.colBlocks = ceilDiv(b.rows, denseRows), ceilDiv(b.cols, denseCols)
	least, narrowest := denseItems, 2
	if p.m*p.n*p.k <= smallDense {
		least, narrowest = fewItems, 1
	}
	for b.rowBlocks*b.colBlocks < least {
		rows, cols := b.rows >= 2*fewPanels*b.rowBlocks, b.cols >= 2*narrowest*b.colBlocks
		if !rows && !cols {
			break
		}
		// More blocks of rows read the right operand more often, and the other way round.
		if rows && (p.n <= p.m && narrowest > 1 || !cols) {
			b.rowBlocks *= 2
		} else {
			b.colBlocks *= 2
		}
	}
	if b.rowBlocks > 4 { // a multiple of 4, so that two or four workers share alike
		b.rowBlocks = min(roundUp(b.rowBlocks, 4), b.rows)
	}
	most := kr.deep * b.unit
	b.depth = roundUp(ceilDiv(p.k, ceilDiv(p.k, most)), kr.nr)
	words := b.words(p.k)
	b.sharedLeft = b.colBlocks > 1 && b.rows*kr.mr*words <= sharedPanels
	b.sharedRight = p.kept == nil && b.rowBlocks > 1 && b.cols*kr.nr*words <= sharedPanels
	return b
}

func (b *blocks) words(terms int) int { return ceilDiv(terms, b.unit) }

// rowSpan and colSpan return the panels of a block.
func (b *blocks) rowSpan(i int) (from, to int) {
	return i * b.rows / b.rowBlocks, (i + 1) * b.rows / b.rowBlocks
}

func (b *blocks) colSpan(i int) (from, to int) {
	return i * b.cols / b.colBlocks, (i + 1) * b.cols / b.colBlocks
}

// multiplyDense computes p.
func (e *Engine) multiplyDense(p *dense) {
	kr := e.kernels
	b := p.blocks(kr)
	items := b.rowBlocks * b.colBlocks
	small := p.m*p.n*p.k <= smallDense // multiply keeps the workers busy with it
	if !p.narrow && (small || b.rows <= unpackedRows && !p.right.trans || items < fewItems && p.k >= 2*minChunk) {
		e.multiply(p.product())
		return
	}
	run := e.pool.run
	if p.m*p.n*p.k <= serialEffort {
		run = serial
	}
	left, right := e.packShared(p, &b, run)
	run(items, func(worker, i int) {
		p.block(kr, &e.scratch.workers[worker], &b, left, right, i/b.colBlocks, i%b.colBlocks)
	})
}

// product is p for multiply, which cuts the terms where the result is small, and reads
// columns where they lie if there are few rows.
func (p *dense) product() *product {
	s := sink{v: p.y, rowStride: p.n, grid: row(p.n), residual: p.residual, bias: p.bias}
	return &product{m: p.m, n: p.n, k: p.k, left: p.left, right: p.right, sink: s, keptRight: p.kept}
}

// packShared packs the operands that more than one block reads, each nil if there is
// but one: for each run of depth terms all its panels.
func (e *Engine) packShared(p *dense, b *blocks, run func(int, func(worker, item int))) (left, right []float32) {
	kr, words := e.kernels, b.words(p.k)
	const panels = 8
	lefts, rights := 0, 0
	if b.sharedLeft {
		left, lefts = grow(&e.scratch.left, b.rows*kr.mr*words), ceilDiv(b.rows, panels)
	}
	if b.sharedRight {
		right, rights = grow(&e.scratch.right, b.cols*kr.nr*words), ceilDiv(b.cols, panels)
	}
	if lefts+rights == 0 {
		return nil, nil
	}
	run(ceilDiv(p.k, b.depth)*(lefts+rights), func(worker, i int) {
		w := &e.scratch.workers[worker]
		from, group := i/(lefts+rights)*b.depth, i%(lefts+rights)
		depth := min(b.depth, p.k-from)
		if group < lefts {
			at := group * panels
			p.packLeft(kr, w, left[kr.mr*(b.rows*b.words(from)+at*b.words(depth)):], at, min(at+panels, b.rows), from, depth)
			return
		}
		at := (group - lefts) * panels
		p.packRight(kr, w, right[kr.nr*(b.cols*b.words(from)+at*b.words(depth)):], at, min(at+panels, b.cols), from, depth)
	})
	return left, right
}

// packLeft packs panels [panel, end) of rows.
func (p *dense) packLeft(kr *kernels, w *workerScratch, dst []float32, panel, end, from, depth int) {
	row := panel * kr.mr
	p.left.packPanels(kr, w, dst, kr.mr, kr.mr, !p.left.trans, row, min(end*kr.mr, p.m)-row, from, depth, p.narrow)
}

// packRight packs panels [panel, end) of columns.
func (p *dense) packRight(kr *kernels, w *workerScratch, dst []float32, panel, end, from, depth int) {
	col := panel * kr.nr
	p.right.packPanels(kr, w, dst, kr.nr, kr.vec, p.right.trans, col, min(end*kr.nr, p.n)-col, from, depth, p.narrow)
}

// block computes a block of the result.
func (p *dense) block(kr *kernels, w *workerScratch, b *blocks, sharedLeft, sharedRight []float32, rowBlock, colBlock int) {
	top, bottom := b.rowSpan(rowBlock)
	first, end := b.colSpan(colBlock)
	tiles := kr.tiles
	if p.narrow {
		tiles = kr.narrow.tiles
	}
	ld := (end - first) * kr.nr
	block := grow(&w.block, (bottom-top)*kr.mr*ld)
	for from := 0; from < p.k; from += b.depth {
		depth := min(b.depth, p.k-from)
		words := b.words(depth)
		var left, right []float32
		if sharedLeft != nil {
			left = sharedLeft[kr.mr*(b.rows*b.words(from)+top*words):]
		} else {
			left = grow(&w.left, kr.mr*(bottom-top)*words)
			p.packLeft(kr, w, left, top, bottom, from, depth)
		}
		pitch := words // between the panels of right
		if p.kept != nil {
			pitch = b.words(p.k)
			right = p.kept[kr.nr*(first*pitch+b.words(from)):]
		} else if sharedRight != nil {
			right = sharedRight[kr.nr*(b.cols*b.words(from)+first*words):]
		} else {
			right = grow(&w.right, kr.nr*(end-first)*words)
			p.packRight(kr, w, right, first, end, from, depth)
		}
		last := from+depth == p.k
		for c := first; c < end; c++ {
			col := c * kr.nr
			n := min(kr.nr, p.n-col)
			run, whole := tiles[ceilDiv(n, kr.vec)-1], n%kr.vec == 0
			panel := right[(c-first)*kr.nr*pitch:]
			for r := top; r < bottom; r++ {
				row := r * kr.mr
				rows := min(kr.mr, p.m-row)
				sums := block[(r-top)*kr.mr*ld+(c-first)*kr.nr:]
				before, ldb := sums, ld
				if from == 0 {
					if before, ldb = nil, 0; whole && p.bias != nil {
						before = p.bias[col:]
					}
				}
				a := left[(r-top)*kr.mr*words:]
				if !last || !whole {
					run[rows](sums, ld, before, ldb, a, kr.mr, panel, kr.nr, words, nil, nil, nil, 0, 0)
					continue
				}
				at := row*p.n + col
				var residual []float32
				if p.residual != nil {
					residual = p.residual[at:]
				}
				run[rows](p.y[at:], p.n, before, ldb, a, kr.mr, panel, kr.nr, words, nil, nil, residual, p.n, 0)
			}
			if last && !whole {
				p.storeRows(kr, block[(c-first)*kr.nr:], ld, top*kr.mr, min(bottom*kr.mr, p.m), col, n)
			}
		}
	}
}

// storeRows brings n columns of a block, fewer than whole vectors, to y.
func (p *dense) storeRows(kr *kernels, sums []float32, ld, row, end, col, n int) {
	for r := row; r < end; r++ {
		at := r*p.n + col
		y, s := p.y[at:at+n], sums[(r-row)*ld:][:n]
		if p.bias != nil {
			kr.add(s, s, p.bias[col:col+n])
		}
		if p.residual != nil {
			kr.add(y, s, p.residual[at:at+n])
		} else {
			copy(y, s)
		}
	}
}
