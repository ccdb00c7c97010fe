package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// rowGroup is how many short rows make one item of work.
const rowGroup = 8

// eachRow calls do for every row.
func (e *Engine) eachRow(rows int, do func(r int)) {
	e.pool.run(ceilDiv(rows, rowGroup), func(_, i int) {
		for r := i * rowGroup; r < min((i+1)*rowGroup, rows); r++ {
			do(r)
		}
	})
}

// RowNorm sets every row of y to spec.Scale * x / |x|.
func (e *Engine) RowNorm(y, x engine.Tensor, spec engine.RowNormSpec) error {
	g := args{op: "row norm"}
	d, s := g.get("y", y, 2), g.get("x", x, 2)
	g.same(d, s)
	g.apart(d, s)
	if g.err != nil {
		return g.err
	}
	h := s.shape[1]
	e.eachRow(s.shape[0], func(r int) {
		to, from := d.v[r*h:(r+1)*h], s.v[r*h:(r+1)*h]
		by, _ := rowDivisor(e.kernels.spread(from, 0), spec)
		f := float64(spec.Scale) / by
		for i, v := range from {
			to[i] = float32(float64(v) * f)
		}
	})
	return nil
}

// rowDivisor returns what a row of the given sum of squares is divided by and
// whether that depends on the row. The squares of float32 numbers neither
// overflow nor vanish in float64.
func rowDivisor(squares float64, spec engine.RowNormSpec) (by float64, varies bool) {
	eps := float64(spec.Eps)
	if spec.Smooth {
		return math.Sqrt(squares + eps), true
	}
	n := math.Sqrt(squares)
	if n < eps { // NaN stays
		return eps, false
	}
	return n, true
}

// RowNormGrad is the gradient of RowNorm: with N what x is divided by,
// dx = Scale*(dy/N - x (x.dy)/N^3), where the second term is 0 if N is Eps.
func (e *Engine) RowNormGrad(dx, dy, x engine.Tensor, spec engine.RowNormSpec) error {
	g := args{op: "row norm gradient"}
	d, u, s := g.get("dx", dx, 2), g.get("dy", dy, 2), g.get("x", x, 2)
	g.same(u, s)
	g.same(d, s)
	g.apart(d, u, s)
	if g.err != nil {
		return g.err
	}
	h := s.shape[1]
	e.eachRow(s.shape[0], func(r int) {
		to, up, from := d.v[r*h:(r+1)*h], u.v[r*h:(r+1)*h], s.v[r*h:(r+1)*h]
		by, varies := rowDivisor(e.kernels.spread(from, 0), spec)
		f, along := float64(spec.Scale)/by, 0.0
		if varies {
			along = e.kernels.project(up, from, 0) / by / by
		}
		for i, v := range from {
			to[i] = float32((float64(up[i]) - float64(v)*along) * f)
		}
	})
	return nil
}
