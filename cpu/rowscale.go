package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// rows2 demands tensors (K, ...) of one shape and returns K and the length of a
// row.
func (g *args) rows2(x, y view) (count, length int) {
	if g.err == nil && len(x.shape) < 1 {
		g.fail("%v has no rows", x)
	}
	g.same(y, x)
	if g.err != nil {
		return 0, 0
	}
	return x.shape[0], volume(x.shape[1:])
}

// ScaleRows sets row k of dst to s[k] times row k of a.
func (e *Engine) ScaleRows(dst, a, s engine.Tensor) error {
	g := args{op: "scale rows"}
	d, x, f := g.get("dst", dst, -1), g.source("a", a, -1), g.get("s", s, 1)
	count, length := g.rows2(x, d)
	g.want(f, x, count)
	if g.err != nil {
		return g.err
	}
	e.rowGroups(count, length, func(k int) {
		at := k * length
		e.kernels.scale(d.v[at:at+length], x.v[at:at+length], f.v[k])
	})
	return nil
}

// RowDots sets d[k] to the dot product of rows k of a and b.
func (e *Engine) RowDots(d, a, b engine.Tensor) error {
	g := args{op: "row dots"}
	out, x, y := g.get("d", d, 1), g.source("a", a, -1), g.source("b", b, -1)
	count, length := g.rows2(x, y)
	g.want(out, x, count)
	if g.err != nil {
		return g.err
	}
	e.rowGroups(count, length, func(k int) {
		at := k * length
		out.v[k] = float32(e.kernels.project(x.v[at:at+length], y.v[at:at+length], 0))
	})
	return nil
}

// rowGroups calls do for every row, in groups of about a chunk.
func (e *Engine) rowGroups(count, length int, do func(k int)) {
	group := max(1, chunk/length)
	e.pool.run(ceilDiv(count, group), func(_, i int) {
		for k := i * group; k < min((i+1)*group, count); k++ {
			do(k)
		}
	})
}
