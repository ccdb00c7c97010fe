package reference

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

func (c *call) rows(a, b engine.Tensor, m metric.Metric) (x, y array) {
	x, y = c.of("a", a, -1, -1), c.of("b", b, -1, -1)
	if c.err != nil {
		return x, y
	}
	c.check(x.shape[1] == y.shape[1], "%v and %v differ in width", x, y)
	if err := m.Validate(); err != nil {
		c.check(false, "%v", err)
	}
	return x, y
}

// Pairwise sets d[i][j] = m(a_i, b_j).
func (Engine) Pairwise(d, a, b engine.Tensor, m metric.Metric) error {
	c := call{op: "pairwise"}
	x, y := c.rows(a, b, m)
	if c.err != nil {
		return c.err
	}
	n, k := x.shape[0], y.shape[0]
	out := c.of("d", d, n, k)
	if c.err != nil {
		return c.err
	}
	for i := range n {
		for j := range k {
			out.v[i*k+j] = float32(m.Value64(x.row(i), y.row(j)))
		}
	}
	return nil
}

// PairwiseGrad sets da and db from dd.
func (Engine) PairwiseGrad(da, db, dd, d, a, b engine.Tensor, m metric.Metric) error {
	c := call{op: "pairwise gradient"}
	x, y := c.rows(a, b, m)
	if c.err != nil {
		return c.err
	}
	n, k, h := x.shape[0], y.shape[0], x.shape[1]
	c.of("d", d, n, k)
	up := c.of("dd", dd, n, k)
	gx, gy := c.maybe("da", da, n, h), c.maybe("db", db, k, h)
	shared := gx.v != nil && gy.v != nil && &gx.v[0] == &gy.v[0]
	c.check(!shared || &x.v[0] == &y.v[0], "da and db are one tensor, a and b are two")
	if c.err != nil {
		return c.err
	}
	sumA, sumB := make([]float64, n*h), make([]float64, k*h)
	for i := range n {
		for j := range k {
			m.Gradient(sumA[i*h:(i+1)*h], sumB[j*h:(j+1)*h], x.row(i), y.row(j), float64(up.v[i*k+j]))
		}
	}
	if shared {
		for i, v := range sumB {
			sumA[i] += v
		}
		sumB = sumA
	}
	if gx.v != nil {
		round(gx, sumA)
	}
	if gy.v != nil {
		round(gy, sumB)
	}
	return nil
}
