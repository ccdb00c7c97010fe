package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// MatMul adds the product a b of matrices a (m, k) and b (k, n): (m, n).
func (g *Graph) MatMul(name string, a, b *Node) *Node {
	if g.bad(name, a, b) {
		return nil
	}
	as, bs := a.Shape(), b.Shape()
	if len(as) != 2 || len(bs) != 2 || as[1] != bs[0] {
		return g.fail(name, fmt.Errorf("matrices %v and %v have no product", as, bs))
	}
	product := func(c, x, y engine.Tensor, transX, transY bool) error {
		return g.eng.MatMul(c, x, y, transX, transY, false)
	}
	flops := 2 * as[0] * as[1] * bs[1]
	return g.as(KindMatMul, nil).flops(flops).apply(name, []int{as[0], bs[1]}, []*Node{a, b}, func(c engine.Tensor, in []engine.Tensor) error {
		return product(c, in[0], in[1], false, false)
	}, func(dc *Node) []*Node {
		ds := make([]*Node, 2)
		if g.needs[a] {
			ds[0] = g.does("matmul grad").flops(flops).apply(name+" grad left", as, []*Node{dc, b}, func(da engine.Tensor, in []engine.Tensor) error {
				return product(da, in[0], in[1], false, true)
			}, nil)
		}
		if g.needs[b] {
			ds[1] = g.does("matmul grad").flops(flops).apply(name+" grad right", bs, []*Node{a, dc}, func(db engine.Tensor, in []engine.Tensor) error {
				return product(db, in[0], in[1], true, false)
			}, nil)
		}
		return ds
	})
}

// Reshape adds the numbers of x, of three axes or fewer, in the same order under another
// shape of three axes or fewer.
func (g *Graph) Reshape(name string, x *Node, shape ...int) *Node {
	if g.bad(name, x) {
		return nil
	}
	from, size := x.Shape(), 1
	for _, n := range shape {
		size *= n
	}
	if size != from.TotalSize() || len(from) > 3 || len(shape) > 3 || len(shape) == 0 {
		return g.fail(name, fmt.Errorf("%v cannot become %v: want as many numbers, and at most three axes (maps have an order of their own)", from, shape))
	}
	reshaped := func(y engine.Tensor, in []engine.Tensor) error { return g.eng.Copy(y, in[0]) }
	return g.as(KindReshape, nil).apply(name, shape, []*Node{x}, reshaped, func(dy *Node) []*Node {
		return []*Node{g.does("reshape grad").apply(name+" grad", from, []*Node{dy}, reshaped, nil)}
	})
}

// ScaleRows adds x (K, ...) with all that has index k on the first axis times s[k]; s is
// (K).
func (g *Graph) ScaleRows(name string, x, s *Node) *Node {
	if g.bad(name, x, s) {
		return nil
	}
	shape := x.Shape()
	if len(shape) < 1 || !sameShape(s.Shape(), shape[:1]) {
		return g.fail(name, fmt.Errorf("%s has shape %v, want one number for each row of %v", g.nameOf(s), s.Shape(), shape))
	}
	scaled := func(y engine.Tensor, in []engine.Tensor) error { return g.eng.ScaleRows(y, in[0], in[1]) }
	y := g.as(KindScaleRows, nil).apply(name, shape, []*Node{x, s}, scaled, func(dy *Node) []*Node {
		ds := make([]*Node, 2)
		if g.needs[s] { // before dx, which may take the place of dy
			ds[1] = g.does("row dots").apply(name+" grad factor", s.Shape(), []*Node{dy, x}, func(d engine.Tensor, in []engine.Tensor) error {
				return g.eng.RowDots(d, in[0], in[1])
			}, nil)
		}
		if g.needs[x] {
			ds[0] = g.mayOverwrite(g.does("scale rows").apply(name+" grad", shape, []*Node{dy, s}, scaled, nil), 0)
		}
		return ds
	})
	return g.mayOverwrite(y, 0)
}

// MixRows adds the rows of a table (1, N, D) in the proportions of a matrix m (M, N),
// row-major: (1, M, D). The gradient reaches the table; m is fixed and in no file.
func (g *Graph) MixRows(name string, table *Node, m []float32) *Node {
	if g.bad(name, table) {
		return nil
	}
	s := table.Shape()
	if len(s) != 3 || s[0] != 1 || len(m) == 0 || len(m)%s[1] != 0 {
		return g.fail(name, fmt.Errorf("a matrix of %d numbers does not mix the rows of a table %v", len(m), s))
	}
	rows := len(m) / s[1]
	matrix := g.Input(name+".matrix", rows, s[1])
	if matrix == nil {
		return nil
	}
	if err := g.eng.Write(g.Value(matrix), m); err != nil {
		return g.fail(name, err)
	}
	y := g.MatMul(name, matrix, g.Reshape(name+".table", table, s[1], s[2]))
	return g.Reshape(name+".rows", y, 1, rows, s[2])
}
