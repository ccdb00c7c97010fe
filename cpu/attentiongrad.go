package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// AttentionGrad is the gradient of Attention. An item of work is one head, whose
// blocks of queries it takes in order. With the weights P of a block, which are
// computed again, and G its rows of dy:
//
//	dV += P^T G        dP = G V^T        dS = scale P (dP - rowsum(G y))
//	dQ  = dS K         dK += dS^T Q
//
// It takes the sums of the softmax anew with the weights, to their own
// precision, and does not need logSum.
func (e *Engine) AttentionGrad(dqkv, dy, y, logSum, qkv engine.Tensor, spec engine.AttentionSpec) error {
	g := args{op: "attention gradient"}
	d, u, out := g.get("dqkv", dqkv, 3), g.get("dy", dy, 3), g.get("y", y, 3)
	l, s := g.get("logSum", logSum, 3), g.get("qkv", qkv, 3)
	a := g.heads(s, spec)
	a.narrow = e.narrow
	g.same(d, s)
	g.want(u, s, a.batch, a.tokens, a.width)
	g.want(out, s, a.batch, a.tokens, a.width)
	g.want(l, s, a.batch, a.count, a.tokens)
	g.apart(d, u, out, l, s)
	if g.err != nil {
		return g.err
	}
	e.runHeads(a, a.batch*a.count, func(worker, i int) {
		a.gradient(e.kernels, &e.scratch.workers[worker], d.v, u.v, out.v, s.v, i/a.count, i%a.count)
	})
	return nil
}

// gradient computes that of head h of image n.
func (a heads) gradient(kr *kernels, w *workerScratch, dqkv, dy, y, qkv []float32, n, h int) {
	blocks, most := a.blocks(kr)
	ld, lds := roundUp(a.tokens, kr.vec), roundUp(a.size, kr.vec)
	block := grow(&w.block, 2*most*ld)
	p, ds := block[:most*ld], block[most*ld:]
	sums := grow(&w.rows, (2*a.tokens+most)*lds)
	dk, dv, dq := sums[:a.tokens*lds], sums[a.tokens*lds:][:a.tokens*lds], sums[2*a.tokens*lds:]

	up, out := a.single(dy, n, h), a.single(y, n, h)
	q, k, v := a.part(qkv, n, h, 0), a.part(qkv, n, h, 1), a.part(qkv, n, h, 2)
	values := v
	values.trans = true
	for b := range blocks {
		row := b * most
		rows := min(most, a.tokens-row)
		a.weigh(kr, w, p, ld, qkv, n, h, row, rows, nil)
		a.multiply(kr, w, ds, ld, rows, a.tokens, a.size, up.from(row), values, false)
		for r := range rows {
			along := kr.project(up.from(row + r).v[:a.size], out.from(row + r).v[:a.size], 0)
			of := ds[r*ld:][:a.tokens]
			kr.softmaxGrad(of, of, p[r*ld:], float32(along), a.scale)
		}
		a.multiply(kr, w, dv, lds, a.tokens, a.size, rows, matrix{v: p, stride: ld, trans: true}, up.from(row), b > 0)
		a.multiply(kr, w, dk, lds, a.tokens, a.size, rows, matrix{v: ds, stride: ld, trans: true}, q.from(row), b > 0)
		a.multiply(kr, w, dq, lds, rows, a.size, a.tokens, matrix{v: ds, stride: ld}, k, false)
		a.copyOut(a.part(dqkv, n, h, 0), dq, lds, row, rows)
	}
	a.copyOut(a.part(dqkv, n, h, 1), dk, lds, 0, a.tokens)
	a.copyOut(a.part(dqkv, n, h, 2), dv, lds, 0, a.tokens)
}
