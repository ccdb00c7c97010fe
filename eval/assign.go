package eval

import (
	"context"
	"math"
)

// assign sends every row to its nearest centre, the lower one in a tie. Of
// Lloyd's iterations most move few rows, and a centre whose rows are the same
// is where it was. So, unless all is set, only changed centres are compared
// with all rows, and all centres with the rows of changed ones; the result is
// that of comparing everything.
func (c *clusterer) assign(ctx context.Context, centres []float64, changed []bool, all bool) error {
	stale, cols := c.stale(changed)
	k := len(changed)
	if n := c.rows.N; all || n*len(cols)+len(stale)*k >= n*k {
		return c.compare(ctx, nil, float32s(centres), func(row int, at int32, key float32) {
			c.nearest[row], c.key[row] = at, c.distance(row, key)
		})
	}
	if len(cols) == 0 {
		return nil
	}
	h := c.rows.H
	points := make([]float64, 0, len(cols)*h)
	for _, j := range cols {
		points = append(points, centres[j*h:(j+1)*h]...)
	}
	err := c.compare(ctx, nil, float32s(points), func(row int, at int32, key32 float32) {
		if changed[c.nearest[row]] {
			return // compared with every centre below
		}
		to, key := int32(cols[at]), c.distance(row, key32)
		if key < c.key[row] || key == c.key[row] && to < c.nearest[row] {
			c.nearest[row], c.key[row] = to, key
		}
	})
	if err != nil {
		return err
	}
	return c.compare(ctx, stale, float32s(centres), func(row int, at int32, key float32) {
		c.nearest[row], c.key[row] = at, c.distance(row, key)
	})
}

// stale lists the rows whose centre has moved, and the changed clusters.
func (c *clusterer) stale(changed []bool) (rows, cols []int) {
	rows = []int{}
	for i, a := range c.nearest {
		if int(a) < len(changed) && changed[a] {
			rows = append(rows, i)
		}
	}
	for j, moved := range changed {
		if moved {
			cols = append(cols, j)
		}
	}
	return rows, cols
}

// distance is the key of a row with what the engine's lacks.
func (c *clusterer) distance(row int, key float32) float64 {
	return math.Max(0, float64(key)+c.shift[row])
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
