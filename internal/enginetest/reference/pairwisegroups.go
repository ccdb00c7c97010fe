package reference

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// groups unwraps rows that lie in groups, and what has a number for each row and
// each of its group.
func (c *call) groups(d, a engine.Tensor, m metric.Metric) (x, values array) {
	x, values = c.of("a", a, -1, -1), c.of("d", d, -1, -1)
	if c.err != nil {
		return x, values
	}
	n, k := values.shape[0], values.shape[1]
	c.check(x.shape[0] == n && n%k == 0, "%v and %v, want as many rows, a multiple of the columns", values, x)
	if err := m.Validate(); err != nil {
		c.check(false, "%v", err)
	}
	return x, values
}

// PairwiseGroups sets d[i][j] = m(a_i, row j of its group).
func (Engine) PairwiseGroups(d, a engine.Tensor, m metric.Metric) error {
	c := call{op: "pairwise groups"}
	x, out := c.groups(d, a, m)
	if c.err != nil {
		return c.err
	}
	n, k := out.shape[0], out.shape[1]
	for i := range n {
		for j := range k {
			out.v[i*k+j] = float32(m.Value64(x.row(i), x.row(i-i%k+j)))
		}
	}
	return nil
}

// PairwiseGroupsGrad sets da from dd.
func (Engine) PairwiseGroupsGrad(da, dd, d, a engine.Tensor, m metric.Metric) error {
	c := call{op: "pairwise groups gradient"}
	x, values := c.groups(d, a, m)
	if c.err != nil {
		return c.err
	}
	n, k, h := values.shape[0], values.shape[1], x.shape[1]
	up, out := c.of("dd", dd, n, k), c.of("da", da, n, h)
	if c.err != nil {
		return c.err
	}
	sum := make([]float64, n*h)
	for i := range n {
		for j := range k {
			o := i - i%k + j
			m.Gradient(sum[i*h:(i+1)*h], sum[o*h:(o+1)*h], x.row(i), x.row(o), float64(up.v[i*k+j]))
		}
	}
	round(out, sum)
	return nil
}
