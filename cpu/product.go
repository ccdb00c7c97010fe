package cpu

// product is the matrix product c (m, n) = l (m, k) r (k, n), which all dense
// operations come down to.
//
// The result is cut into blocks, and, if there are few, the terms into chunks.
// One item of work is one block and one chunk: it packs depth terms of the
// operands at a time, sums them with the tile kernels in a block of its own, and
// hands the block to the sink. Nothing of this depends on the number of threads,
// so neither does any rounding.
type product struct {
	m, n, k int
	left    left
	right   right
	sink    sink
	narrow  bool // the operands are rounded to bfloat16
	// keptLeft or keptRight is the operand as panels of all its terms, see packedForm, or nil.
	keptLeft, keptRight []float32
}

// unit is the number of terms in a word of a packed operand.
func (p *product) unit() int {
	if p.narrow {
		return 2
	}
	return 1
}

func (p *product) words(terms int) int { return ceilDiv(terms, p.unit()) }

const (
	blockRows    = 1024    // most rows of a block
	blockCols    = 256     // most columns of a block
	minItems     = 16      // items that keep several workers evenly busy
	minChunk     = 1 << 10 // fewest terms of a chunk
	sharedLeft   = 8 << 20 // largest left operand that is packed once, in floats
	serialEffort = 1 << 18 // multiplications that are not worth waking a worker
	acrossTerms  = 128     // fewest terms beside each other in rows that are read where they lie
	unpackedRows = 10      // tiles of rows up to which columns are read where they lie
)

// layout is how a product is cut.
type layout struct {
	rows, cols, terms          int // of an item
	rowBlocks, colBlocks, cuts int
	depth                      int // terms packed at a time
	shared                     bool
	across                     acrossLeft // the left factor, if it is read where it lies
}

func (p *product) layout(kr *kernels) layout {
	l := layout{cuts: 1}
	l.rows = roundUp(ceilDiv(p.m, ceilDiv(p.m, blockRows)), kr.mr)
	l.cols = roundUp(ceilDiv(p.n, ceilDiv(p.n, blockCols)), kr.nr)
	items := func() int { return ceilDiv(p.m, l.rows) * ceilDiv(p.n, l.cols) }
	// Chunks leave the blocks large, and so the packing small. Narrower blocks read
	// the left panels more often, lower ones pack the columns more than once.
	if n := items(); n < minItems {
		l.cuts = max(1, min(ceilDiv(minItems, n), p.k/minChunk))
	}
	for items()*l.cuts < minItems && l.cols > 4*kr.nr {
		l.cols = roundUp(l.cols/2, kr.nr)
	}
	for items()*l.cuts < minItems && l.rows > 32*kr.mr {
		l.rows = roundUp(l.rows/2, kr.mr)
	}
	for items()*l.cuts < minItems && l.cols > 2*kr.nr {
		l.cols = roundUp(l.cols/2, kr.nr)
	}
	for items()*l.cuts < minItems && l.rows > 8*kr.mr {
		l.rows = roundUp(l.rows/2, kr.mr)
	}
	l.terms = roundUp(ceilDiv(p.k, l.cuts), kr.nr)
	l.cuts = ceilDiv(p.k, l.terms)
	l.depth = p.evenDepth(kr, l.terms)
	l.rowBlocks, l.colBlocks = ceilDiv(p.m, l.rows), ceilDiv(p.n, l.cols)
	if a, ok := p.left.(acrossLeft); ok && kr.across != nil && !p.narrow {
		if _, _, terms := a.across(0, 0); terms >= acrossTerms {
			l.across = a
			return l
		}
	}
	l.shared = roundUp(p.m, kr.mr)*p.words(p.k) <= sharedLeft && (l.colBlocks > 1 || l.cuts == 1)
	return l
}

// evenDepth is how many of that many terms are packed at a time.
func (p *product) evenDepth(kr *kernels, terms int) int {
	return roundUp(ceilDiv(terms, ceilDiv(terms, kr.depth*p.unit())), kr.nr)
}

func (e *Engine) multiply(p *product) {
	kr := e.kernels
	l := p.layout(kr)
	items := l.rowBlocks * l.colBlocks * l.cuts
	run := e.pool.run
	if p.m*p.n*p.k <= serialEffort {
		run = serial
	}
	var packed []float32
	if l.shared && p.keptLeft == nil {
		packed = e.packLeft(p, l, run)
	}
	var parts []float32
	size := l.rows * l.cols
	if l.cuts > 1 {
		parts = grow(&e.scratch.parts, items*size)
	}
	run(items, func(worker, i int) {
		w := &e.scratch.workers[worker]
		cut, b := i%l.cuts, i/l.cuts
		row, col := b/l.colBlocks*l.rows, b%l.colBlocks*l.cols
		rows, cols := min(l.rows, p.m-row), min(l.cols, p.n-col)
		var block []float32
		if l.cuts > 1 {
			block = parts[i*size : (i+1)*size]
		} else {
			block = grow(&w.block, size)
		}
		ld := roundUp(cols, kr.vec)
		from := cut * l.terms
		p.sumBlock(kr, w, l, packed, block, ld, row, rows, col, cols, from, min(from+l.terms, p.k))
	})
	if l.cuts == 1 {
		return
	}
	run(l.rowBlocks*l.colBlocks, func(_, b int) {
		row, col := b/l.colBlocks*l.rows, b%l.colBlocks*l.cols
		rows, cols := min(l.rows, p.m-row), min(l.cols, p.n-col)
		ld := roundUp(cols, kr.vec)
		total := parts[b*l.cuts*size:]
		for cut := 1; cut < l.cuts; cut++ {
			kr.add(total[:rows*ld], total[:rows*ld], total[cut*size:])
		}
		p.sink.store(kr, total, ld, row, rows, col, cols)
	})
}

// packLeft packs the whole left operand: for each run of depth terms all its
// panels.
func (e *Engine) packLeft(p *product, l layout, run func(int, func(worker, item int))) []float32 {
	kr := e.kernels
	rows := roundUp(p.m, kr.mr)
	packed := grow(&e.scratch.left, rows*p.words(p.k))
	const panels = 4
	groups := ceilDiv(rows, panels*kr.mr)
	steps := p.steps(l)
	run(groups*steps, func(worker, i int) {
		from, to := p.step(l, i/groups)
		row := i % groups * panels * kr.mr
		p.packRows(kr, &e.scratch.workers[worker], packed[rows*p.words(from)+row*p.words(to-from):], row, min(panels*kr.mr, p.m-row), from, to-from)
	})
	return packed
}

// steps is the number of runs of at most depth terms that the chunks have.
func (p *product) steps(l layout) int {
	per := ceilDiv(l.terms, l.depth)
	last := p.k - (l.cuts-1)*l.terms
	return (l.cuts-1)*per + ceilDiv(last, l.depth)
}

func (p *product) step(l layout, s int) (from, to int) {
	per := ceilDiv(l.terms, l.depth)
	start := s / per * l.terms
	from = start + s%per*l.depth
	return from, min(from+l.depth, start+l.terms, p.k)
}

// sumBlock sums terms [from, to) of one block, and without cuts brings the sums
// to the sink. packed is the whole left operand or nil.
func (p *product) sumBlock(kr *kernels, w *workerScratch, l layout, packed, block []float32, ld, row, rows, col, cols, from, to int) {
	right := grow(&w.right, p.words(l.depth)*l.cols)
	height := roundUp(p.m, kr.mr)
	tiles := kr.tiles
	if p.narrow {
		tiles = kr.narrow.tiles
	}
	for at := from; at < to; at += l.depth {
		depth := min(l.depth, to-at)
		words := p.words(depth)
		var left []float32
		pitch := words // between the panels of left, as rows of kr.mr words
		switch {
		case l.across != nil:
		case p.keptLeft != nil:
			pitch = p.words(p.k)
			left = p.keptLeft[row*pitch+kr.mr*p.words(at):]
		case packed != nil:
			left = packed[height*p.words(at)+row*words:]
		default:
			left = grow(&w.left, p.words(l.depth)*l.rows)
			p.packRows(kr, w, left, row, rows, at, depth)
		}
		unpacked, _ := p.right.(inPlace)
		if rows > unpackedRows*kr.mr || p.narrow {
			unpacked = nil
		}
		if p.keptRight != nil {
			unpacked = nil
		} else if unpacked == nil {
			p.packCols(kr, w, right, col, cols, at, depth)
		}
		for c := 0; c < cols; c += kr.nr {
			n := min(kr.nr, cols-c)
			b, ldb := right, kr.nr
			if p.keptRight != nil {
				b = p.keptRight[(col+c)*p.words(p.k)+kr.nr*p.words(at):]
			} else if unpacked == nil {
				b = right[c*words:]
			}
			if unpacked != nil {
				var v []float32
				if n%kr.vec == 0 {
					v, ldb = unpacked.direct(col+c, n, at)
				}
				if b = v; v == nil {
					b, ldb = right, kr.nr
					p.right.packCols(kr, w, right, col+c, n, at, depth)
				}
			}
			if l.across != nil {
				sumAcross(kr, l.across, block[c:], ld, row, rows, b, n, at, depth, at > from)
				if l.cuts == 1 && at+depth == to {
					p.sink.store(kr, block[c:], ld, row, rows, col+c, n)
				}
				continue
			}
			t := tileRow{kr: kr, tiles: tiles[ceilDiv(n, kr.vec)-1], rows: rows, n: n, left: left, pitch: pitch, b: b, ldb: ldb, depth: words, block: block[c:], ld: ld, add: at > from}
			if l.cuts == 1 && at+depth == to {
				t.end(&p.sink, w, row, col+c)
			} else {
				t.sum()
			}
		}
	}
}

// sumAcross adds depth terms from p on of rows that are read where they lie, times a packed
// panel of n columns, to the block, or sets it.
func sumAcross(kr *kernels, a acrossLeft, block []float32, ld, row, rows int, right []float32, n, p, depth int, add bool) {
	tiles := kr.across[ceilDiv(n, kr.vec)-1]
	for done := 0; done < depth; {
		v, stride, terms := a.across(row, p+done)
		terms = min(terms, depth-done)
		for r := 0; r < rows; r += kr.mr {
			tiles[min(kr.mr, rows-r)](block[r*ld:], ld, add || done > 0, v[r*stride:], stride, right[done*kr.nr:], kr.nr, terms)
		}
		done += terms
	}
}

// packRows packs rows of the left operand.
func (p *product) packRows(kr *kernels, w *workerScratch, dst []float32, row, rows, from, depth int) {
	if !p.narrow {
		p.left.packRows(kr, dst, row, rows, from, depth)
		return
	}
	wide, words := grow(&w.wide, kr.mr*depth), p.words(depth)
	for ; rows > 0; row, rows = row+kr.mr, rows-kr.mr {
		p.left.packRows(kr, wide, row, min(kr.mr, rows), from, depth)
		kr.narrow.panel(dst, wide, kr.mr, depth)
		dst = dst[min(kr.mr*words, len(dst)):]
	}
}

// packCols packs columns of the right operand.
func (p *product) packCols(kr *kernels, w *workerScratch, dst []float32, col, cols, from, depth int) {
	if !p.narrow {
		p.right.packCols(kr, w, dst, col, cols, from, depth)
		return
	}
	wide, words := grow(&w.wide, roundUp(cols, kr.nr)*depth), p.words(depth)
	p.right.packCols(kr, w, wide, col, cols, from, depth)
	for c := 0; c < cols; c += kr.nr {
		kr.narrow.panel(dst[c*words:], wide[c*depth:], kr.nr, depth)
	}
}

// tileRow is a panel of columns by all rows of a block.
type tileRow struct {
	kr      *kernels
	tiles   []tileFunc
	rows, n int
	left, b []float32
	pitch   int // between the panels of left
	ldb     int
	depth   int // words of the operands
	block   []float32
	ld      int
	add     bool // to what the block holds
}

// sum leaves the sums in the block.
func (t *tileRow) sum() {
	kr := t.kr
	for r := 0; r < t.rows; r += kr.mr {
		to := t.block[r*t.ld:]
		t.tiles[min(kr.mr, t.rows-r)](to, t.ld, t.before(to), t.ld, t.left[r*t.pitch:], kr.mr, t.b, t.ldb, t.depth, nil, nil, nil, 0, 0)
	}
}

// end brings the sums to a sink, whose rows from row on and columns from col on they are.
func (t *tileRow) end(s *sink, w *workerScratch, row, col int) {
	switch place := s.run(col, t.n); {
	case t.n%t.kr.vec == 0 && place >= 0 && s.bias == nil:
		t.finish(s, place, row)
	case s.splits():
		t.split(s, grow(&w.rows, t.rows*t.kr.nr), row, col)
	default:
		t.sum()
		s.store(t.kr, t.block, t.ld, row, t.rows, col, t.n)
	}
}

// finish brings the sums to the place of a sink.
func (t *tileRow) finish(s *sink, place, row int) {
	kr := t.kr
	for r := 0; r < t.rows; r += kr.mr {
		scale, shift, residual, ldr := s.tile(place, row+r)
		t.tiles[min(kr.mr, t.rows-r)](s.v[place+(row+r)*s.rowStride:], s.rowStride, t.before(t.block[r*t.ld:]), t.ld,
			t.left[r*t.pitch:], kr.mr, t.b, t.ldb, t.depth, scale, shift, residual, ldr, s.ceiling)
	}
}

// split brings the sums to the places of a sink that its columns are spread over: the
// tiles end them in the block, from where each run is copied. residual is
// scratch of nr columns.
func (t *tileRow) split(s *sink, residual []float32, row, col int) {
	kr := t.kr
	if s.residual != nil {
		s.runs(col, t.n, func(done, count, place int) {
			kr.copyRows(residual[done:], kr.nr, s.residual[place+row*s.rowStride:], s.rowStride, t.rows, count, count)
		})
	}
	for r := 0; r < t.rows; r += kr.mr {
		var scale, shift, more []float32
		if s.scale != nil {
			scale = s.scale[row+r:]
		}
		if s.shift != nil {
			shift = s.shift[row+r:]
		}
		if s.residual != nil {
			more = residual[r*kr.nr:]
		}
		to := t.block[r*t.ld:]
		t.tiles[min(kr.mr, t.rows-r)](to, t.ld, t.before(to), t.ld, t.left[r*t.pitch:], kr.mr, t.b, t.ldb, t.depth, scale, shift, more, kr.nr, s.ceiling)
	}
	s.runs(col, t.n, func(done, count, place int) {
		kr.copyRows(s.v[place+row*s.rowStride:], s.rowStride, t.block[done:], t.ld, t.rows, count, count)
	})
}

func (t *tileRow) before(block []float32) []float32 {
	if !t.add {
		return nil
	}
	return block
}

func serial(items int, do func(worker, item int)) {
	for i := range items {
		do(0, i)
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceilDiv(a, b) * b }
