package links

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Unit is the normalization of rows to length 1.
func Unit() engine.RowNormSpec { return engine.RowNormSpec{Scale: 1, Eps: 1e-12} }

// Columns are N numbers of each row of (B, H), from one on: (B, N).
type Columns struct{ From, N int }

// Shape implements layers.HostOp.
func (c Columns) Shape(in ...[]int) ([]int, error) {
	if len(in) != 1 || len(in[0]) != 2 || c.N < 1 || c.From < 0 || c.From+c.N > in[0][1] {
		return nil, fmt.Errorf("%d columns from %d on are of rows (B, H) that have them, not of %v", c.N, c.From, in)
	}
	return []int{in[0][0], c.N}, nil
}

// Forward implements layers.HostOp.
func (c Columns) Forward(y layers.Array, x ...layers.Array) error {
	width := x[0].Shape[1]
	for i := range y.Shape[0] {
		copy(y.V[i*c.N:(i+1)*c.N], x[0].V[i*width+c.From:])
	}
	return nil
}

// Backward implements layers.HostOp.
func (c Columns) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	clear(dx[0].V)
	width := x[0].Shape[1]
	for i := range dy.Shape[0] {
		copy(dx[0].V[i*width+c.From:], dy.V[i*c.N:(i+1)*c.N])
	}
	return nil
}
