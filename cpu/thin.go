package cpu

// thin is the product of few lines, the places of one image or two, by
// weights (n, k): c (m, n) = lines (m, k) weights^T. To read the weights is then much of the
// work. They are the panels of columns, so that a panel is read once from memory, and lines
// are packed once for all of them; the next panel is fetched meanwhile if it is kept.
// There is none of the waste of a last vector of columns, which a map of 7 x 7 has a quarter of.
//
// An item of work is some panels of weights. Nothing of this depends on the number of
// threads, nor on whether weights are kept.
type thin struct {
	m, n, k int
	depth   int // terms summed at a time, a multiple of kr.nr: that of a product of more lines
	// pack writes lines [line, line+lines) of one panel of kr.nr and terms [from, from+depth):
	// term t of a line is dst[t*kr.nr + line%kr.nr], or that of words if narrow is set.
	pack    func(w *workerScratch, dst []float32, line, lines, from, depth int)
	weights matrix
	kept    []float32 // the weights as panels of all terms, or nil
	narrow  bool
	sink    sink // its rows are the columns
}

const (
	thinLines = 256 // most lines of a thin product
	thinItems = 8   // groups of panels that keep several workers evenly busy
)

// multiplyThin computes t.
func (e *Engine) multiplyThin(t *thin) {
	kr := e.kernels
	run := e.pool.run
	if t.m*t.n*t.k <= serialEffort {
		run = serial
	}
	padded, depth := roundUp(t.m, kr.nr), t.depth
	lines := grow(&e.scratch.left, padded*wordsOf(t.k, t.narrow))
	panels := padded / kr.nr
	run(ceilDiv(t.k, depth)*panels, func(worker, i int) {
		from, line := i/panels*depth, i%panels*kr.nr
		d := min(depth, t.k-from)
		to := lines[padded*wordsOf(from, t.narrow)+line*wordsOf(d, t.narrow):]
		t.pack(&e.scratch.workers[worker], to, line, min(kr.nr, t.m-line), from, d)
	})
	cols := ceilDiv(t.n, kr.nr)
	groups := min(cols, thinItems)
	run(groups, func(worker, i int) {
		end := (i + 1) * cols / groups
		for c := i * cols / groups; c < end; c++ {
			t.column(kr, &e.scratch.workers[worker], lines, c, end)
		}
	})
}

// column multiplies all lines by panel c of the weights; that before end are to follow.
func (t *thin) column(kr *kernels, w *workerScratch, lines []float32, c, end int) {
	tiles := kr.tiles
	if t.narrow {
		tiles = kr.narrow.tiles
	}
	col, n := c*kr.nr, min(kr.nr, t.n-c*kr.nr)
	tile := tiles[ceilDiv(n, kr.vec)-1]
	block := grow(&w.block, t.m*kr.nr)
	padded := roundUp(t.m, kr.nr)
	for from := 0; from < t.k; from += t.depth {
		d := min(t.depth, t.k-from)
		words := wordsOf(d, t.narrow)
		panel, next := t.panel(kr, w, c, end, from, d)
		ahead := len(next) * kr.nr / padded // for each panel of lines
		for line := 0; line < t.m; line += kr.nr {
			kr.fetch(next[:ahead])
			next = next[ahead:]
			count := min(kr.nr, t.m-line)
			a := lines[padded*wordsOf(from, t.narrow)+line*words:]
			parts := ceilDiv(count, kr.mr)
			for q := range parts {
				top := q * count / parts
				rows := (q+1)*count/parts - top
				at := line + top
				dst := block[at*kr.nr:]
				before, ldb := dst, kr.nr
				if from == 0 {
					before, ldb = nil, 0
				}
				tile[rows](dst, kr.nr, before, ldb, a[top:], kr.nr, panel, kr.nr, words, nil, nil, nil, 0, 0)
			}
		}
	}
	t.turn(kr, w, block, col, n)
}

// turn brings n columns from col on, which lie in rows of a block, to the sink. Tiles end them
// as those of any other product, of nothing but zeros added to what there is.
func (t *thin) turn(kr *kernels, w *workerScratch, block []float32, col, n int) {
	ld := roundUp(t.m, kr.nr)
	turned := grow(&w.left, n*ld)
	kr.transpose(turned, ld, block, kr.nr, t.m, n, t.m)
	var zeros [2 * maxLines]float32
	for at := 0; at < t.m; at += kr.nr {
		count := min(kr.nr, t.m-at)
		row := tileRow{kr: kr, tiles: kr.tiles[ceilDiv(count, kr.vec)-1], rows: n, n: count, left: zeros[:], b: zeros[:], ldb: kr.nr, depth: 1, block: turned[at:], ld: ld, add: true}
		row.end(&t.sink, w, col, at)
	}
}

// panel returns depth terms of panel c of the weights, and what will be needed next, if it
// is kept.
func (t *thin) panel(kr *kernels, w *workerScratch, c, end, from, depth int) (panel, next []float32) {
	if t.kept == nil {
		panel = grow(&w.right, kr.nr*wordsOf(depth, t.narrow))
		col := c * kr.nr
		t.weights.packPanels(kr, w, panel, kr.nr, kr.vec, t.weights.trans, col, min(kr.nr, t.n-col), from, depth, t.narrow)
		return panel, nil
	}
	all, words := wordsOf(t.k, t.narrow), wordsOf(depth, t.narrow)
	at := kr.nr * (c*all + wordsOf(from, t.narrow))
	to := kr.nr * end * all
	if at+kr.nr*words < to {
		next = t.kept[at+kr.nr*words : min(to, at+2*kr.nr*words)]
	}
	return t.kept[at:], next
}
