package reference

import (
	"github.com/vernier-ml/vernier/engine"
)

// Mix sets y[i] = sum over j of op(s)[i][j] x[j].
func (Engine) Mix(y, s, x engine.Tensor, trans bool) error {
	c := call{op: "mix"}
	out, in := c.any("y", y), c.any("x", x)
	c.check(len(in.shape) > 1, "%v has no axis 1", in)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	n := in.shape[0]
	m := c.of("s", s, n, n)
	if c.err != nil {
		return c.err
	}
	size := len(in.v) / n
	for i := range n {
		for p := range size {
			sum := 0.0
			for j := range n {
				weight := m.v[i*n+j]
				if trans {
					weight = m.v[j*n+i]
				}
				sum += float64(weight) * float64(in.v[j*size+p])
			}
			out.v[i*size+p] = float32(sum)
		}
	}
	return nil
}

// ChannelGrams sets g[c][i][j] to the scalar product of x[i][c] and x[j][c].
func (Engine) ChannelGrams(g, x engine.Tensor) error {
	c := call{op: "channel grams"}
	in := c.any("x", x)
	c.check(len(in.shape) > 1, "%v has no axis 1", in)
	if c.err != nil {
		return c.err
	}
	n, channels := in.shape[0], in.shape[1]
	out := c.of("g", g, channels, n, n)
	if c.err != nil {
		return c.err
	}
	area := len(in.v) / (n * channels)
	at := func(i, k, p int) float64 { return float64(in.v[(i*channels+k)*area+p]) }
	for k := range channels {
		for i := range n {
			for j := range n {
				sum := 0.0
				for p := range area {
					sum += at(i, k, p) * at(j, k, p)
				}
				out.v[(k*n+i)*n+j] = float32(sum)
			}
		}
	}
	return nil
}
