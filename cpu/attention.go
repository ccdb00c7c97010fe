package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// queryRows is the largest number of queries of a block: the weights of a block
// are all of the T x T that exist at a time, for each worker.
const queryRows = 128

// heads is packed attention as its kernels see it.
type heads struct {
	batch, tokens, count, size int  // size is that of one head
	width                      int  // count*size
	narrow                     bool // products in bfloat16
	scale                      float32
}

func (g *args) heads(qkv view, spec engine.AttentionSpec) heads {
	if g.err == nil && spec.Heads < 1 {
		g.fail("%d heads, want 1 or more", spec.Heads)
	}
	if g.err == nil && !(spec.Scale > 0) {
		g.fail("the scale is %v, want more than 0", spec.Scale)
	}
	if g.err == nil && qkv.shape[2]%(3*spec.Heads) != 0 {
		g.fail("%v, want a last axis that is a multiple of 3*%d heads", qkv, spec.Heads)
	}
	if g.err != nil {
		return heads{}
	}
	d := qkv.shape[2] / 3
	return heads{batch: qkv.shape[0], tokens: qkv.shape[1], count: spec.Heads, size: d / spec.Heads, width: d, scale: spec.Scale}
}

// part returns what (0 queries, 1 keys, 2 values) of packed tokens as the matrix
// (T, size) of head h of image n.
func (a heads) part(v []float32, n, h, what int) matrix {
	return matrix{v: v[n*a.tokens*3*a.width+what*a.width+h*a.size:], stride: 3 * a.width}
}

// single is part for an array (B, T, D).
func (a heads) single(v []float32, n, h int) matrix {
	return matrix{v: v[n*a.tokens*a.width+h*a.size:], stride: a.width}
}

// blocks returns how many blocks the queries come in, and of how many rows.
func (a heads) blocks(kr *kernels) (count, rows int) {
	rows = roundUp(ceilDiv(a.tokens, ceilDiv(a.tokens, queryRows)), kr.mr)
	return ceilDiv(a.tokens, rows), rows
}

// runHeads calls do for every item, on this goroutine if there is little to do.
func (e *Engine) runHeads(a heads, items int, do func(worker, item int)) {
	if a.batch*a.tokens*a.tokens*a.width <= serialEffort {
		serial(items, do)
		return
	}
	e.pool.run(items, do)
}

// Attention is multi-head attention over packed tokens. An item of work is a
// block of queries of one head.
func (e *Engine) Attention(y, logSum, qkv engine.Tensor, spec engine.AttentionSpec) error {
	g := args{op: "attention"}
	d, l, s := g.get("y", y, 3), g.get("logSum", logSum, 3), g.get("qkv", qkv, 3)
	a := g.heads(s, spec)
	a.narrow = e.narrow
	g.want(d, s, a.batch, a.tokens, a.width)
	g.want(l, s, a.batch, a.count, a.tokens)
	g.apart(d, s, l)
	g.apart(l, s)
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	blocks, most := a.blocks(kr)
	ld, ldo := roundUp(a.tokens, kr.vec), roundUp(a.size, kr.vec)
	e.runHeads(a, a.batch*a.count*blocks, func(worker, i int) {
		w := &e.scratch.workers[worker]
		n, h, row := i/blocks/a.count, i/blocks%a.count, i%blocks*most
		rows := min(most, a.tokens-row)
		p := grow(&w.block, most*ld)
		a.weigh(kr, w, p, ld, s.v, n, h, row, rows, l.v[(n*a.count+h)*a.tokens+row:])
		out := grow(&w.rows, most*ldo)
		a.multiply(kr, w, out, ldo, rows, a.size, a.tokens, matrix{v: p, stride: ld}, a.part(s.v, n, h, 2), false)
		a.copyOut(a.single(d.v, n, h), out, ldo, row, rows)
	})
	return nil
}

// weigh sets rows of p, ld apart, to the softmax of the scores of queries [row,
// row+rows), and logSum, if it is not nil, to the logarithms of their sums.
func (a heads) weigh(kr *kernels, w *workerScratch, p []float32, ld int, qkv []float32, n, h, row, rows int, logSum []float32) {
	keys := a.part(qkv, n, h, 1)
	keys.trans = true
	a.multiply(kr, w, p, ld, rows, a.tokens, a.size, a.part(qkv, n, h, 0).from(row), keys, false)
	for r := range rows {
		of := p[r*ld:][:a.tokens]
		total := softmaxRow(kr, of, of, a.scale)
		if logSum != nil {
			logSum[r] = total
		}
	}
}

// from is the matrix without its first rows.
func (m matrix) from(row int) matrix {
	m.v = m.v[row*m.stride:]
	return m
}

// copyOut writes rows of one head.
func (a heads) copyOut(to matrix, from []float32, ld, row, rows int) {
	for r := range rows {
		copy(to.v[(row+r)*to.stride:][:a.size], from[r*ld:])
	}
}

// multiply sets or adds to rows of c, ldc apart, the product of l (m, k) and r
// (k, n) on the calling worker. ldc is a multiple of the vector length.
func (a heads) multiply(kr *kernels, w *workerScratch, c []float32, ldc, m, n, k int, l, r matrix, add bool) {
	tiles, unit := kr.tiles, 1
	if a.narrow {
		tiles, unit = kr.narrow.tiles, 2
	}
	depth := min(unit*kr.depth, k)
	left, right := grow(&w.left, ceilDiv(depth, unit)*roundUp(m, kr.mr)), grow(&w.right, ceilDiv(depth, unit)*roundUp(n, kr.nr))
	for at := 0; at < k; at += depth {
		d := min(depth, k-at)
		words := ceilDiv(d, unit)
		l.packPanels(kr, w, left, kr.mr, kr.mr, !l.trans, 0, m, at, d, a.narrow)
		r.packPanels(kr, w, right, kr.nr, kr.vec, r.trans, 0, n, at, d, a.narrow)
		for col := 0; col < n; col += kr.nr {
			run := tiles[ceilDiv(min(kr.nr, n-col), kr.vec)-1]
			for row := 0; row < m; row += kr.mr {
				to := c[row*ldc+col:]
				var before []float32
				if add || at > 0 {
					before = to
				}
				run[min(kr.mr, m-row)](to, ldc, before, ldc, left[row*words:], kr.mr, right[col*words:], kr.nr, words, nil, nil, nil, 0, 0)
			}
		}
	}
}
