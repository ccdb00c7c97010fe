package cpu

import (
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// MatMul sets c = op(a) op(b), or adds it to c.
func (e *Engine) MatMul(c, a, b engine.Tensor, transA, transB, accumulate bool) error {
	g := args{op: "matmul"}
	d, x, y := g.get("c", c, 2), g.get("a", a, 2), g.get("b", b, 2)
	if g.err != nil {
		return g.err
	}
	m, k := opShape(x, transA)
	k2, n := opShape(y, transB)
	if k != k2 {
		g.fail("%s and %s do not fit: inner dimensions %d and %d", opName(x, transA), opName(y, transB), k, k2)
	}
	if g.err == nil && !d.is(m, n) {
		g.fail("%v does not fit %s %s: want (%d, %d)", d, opName(x, transA), opName(y, transB), m, n)
	}
	g.apart(d, x, y)
	if g.err != nil {
		return g.err
	}
	e.matmul(d.v, x.v, y.v, m, n, k, transA, transB, accumulate)
	return nil
}

// matmul is MatMul on checked slices.
func (e *Engine) matmul(c, a, b []float32, m, n, k int, transA, transB, accumulate bool) {
	p := dense{
		m: m, n: n, k: k, y: c,
		left:  matrix{a, pick(transA, m, k), transA},
		right: matrix{b, pick(transB, k, n), transB},
	}
	if accumulate {
		p.residual = c
	}
	e.multiplyDense(&p)
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

func opShape(x view, trans bool) (rows, cols int) {
	if trans {
		return x.shape[1], x.shape[0]
	}
	return x.shape[0], x.shape[1]
}

func opName(x view, trans bool) string {
	if trans {
		return x.String() + "^T"
	}
	return x.String()
}

// Linear sets y (..., out) = x (..., in) w^T + bias.
func (e *Engine) Linear(y, x, w, bias engine.Tensor) error {
	g := args{op: "linear"}
	d, s, m, b := g.get("y", y, -1), g.get("x", x, -1), g.source("w", w, 2), g.maybe("bias", bias, 1)
	n := g.lines(s, 2)
	if g.err != nil {
		return g.err
	}
	rows, in, out := n.rows, n.width, m.shape[0]
	g.want(m, s, out, in)
	g.rows(d, s, out)
	g.want(b, m, out)
	g.apart(d, s, m, b)
	if g.err != nil {
		return g.err
	}
	p := dense{
		m: rows, n: out, k: in, y: d.v, bias: b.v, narrow: e.narrowTokens(s),
		left:  matrix{v: s.v, stride: in},
		right: matrix{v: m.v, stride: in, trans: true},
	}
	p.kept = e.keptCols(m, p.right, out, in, p.narrow)
	e.multiplyDense(&p)
	return nil
}

// narrowTokens reports whether products of x are in bfloat16: those of tokens, but not
// those of rows, which embeddings and classes come from.
func (e *Engine) narrowTokens(x view) bool { return e.narrow && len(x.shape) > 2 }

// rows demands that x is like because but has rows of width numbers.
func (a *args) rows(x, because view, width int) {
	if a.err == nil {
		a.want(x, because, append(slices.Clone(leading(because.shape)), width)...)
	}
}

// LinearGrad sets those of dx = dy w, dw = dy^T x and dbias = sum of dy over
// rows that are not nil.
func (e *Engine) LinearGrad(dx, dw, dbias, dy, x, w engine.Tensor) error {
	g := args{op: "linear gradient"}
	u, s, m := g.get("dy", dy, -1), g.get("x", x, -1), g.source("w", w, 2)
	du, dm, db := g.maybe("dx", dx, -1), g.maybe("dw", dw, 2), g.maybe("dbias", dbias, 1)
	n := g.lines(s, 2)
	if g.err != nil {
		return g.err
	}
	rows, in, out := n.rows, n.width, m.shape[0]
	g.want(m, s, out, in)
	g.rows(u, s, out)
	g.same(du, s)
	g.same(dm, m)
	g.want(db, m, out)
	for _, d := range []view{du, dm, db} {
		g.apart(d, u, s, m)
	}
	if g.err != nil {
		return g.err
	}
	if du.v != nil {
		e.multiplyDense(&dense{
			m: rows, n: in, k: out, y: du.v, narrow: e.narrowTokens(s),
			left:  matrix{v: u.v, stride: out},
			right: matrix{v: m.v, stride: in},
		})
	}
	if dm.v != nil {
		e.keeper.stop()
		e.multiplyDense(&dense{
			m: out, n: in, k: rows, y: dm.v, narrow: e.narrowTokens(s),
			left:  matrix{v: u.v, stride: out, trans: true},
			right: matrix{v: s.v, stride: in},
		})
	}
	if db.v != nil {
		e.sumRows(db.v, u.v)
	}
	return nil
}

// sumRows sets dst to the sum of the rows of x, each len(dst) long: a few at a
// time in float32, as vectors, and the sums of these in float64.
func (e *Engine) sumRows(dst, x []float32) {
	n := len(dst)
	rows := len(x) / n
	items := ceilDiv(rows, normRows)
	parts := grow(&e.scratch.parts, items*n)
	run := e.pool.run
	if len(x) <= chunk {
		run = serial
	}
	run(items, func(_, i int) {
		sum := parts[i*n : (i+1)*n]
		copy(sum, x[i*normRows*n:])
		for r := i*normRows + 1; r < min((i+1)*normRows, rows); r++ {
			e.kernels.add(sum, sum, x[r*n:(r+1)*n])
		}
	})
	addParts(dst, parts, 0, n)
}
