package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// Mix sets y = op(s) x over axis 0.
func (e *Engine) Mix(y, s, x engine.Tensor, trans bool) error {
	a := args{op: "mix"}
	d, m, v := a.get("y", y, -1), a.get("s", s, 2), a.get("x", x, -1)
	n := a.items(v)
	if a.err != nil {
		return a.err
	}
	a.want(m, v, n, n)
	a.same(d, v)
	a.apart(d, m, v)
	if a.err != nil {
		return a.err
	}
	e.matmul(d.v, m.v, v.v, n, len(v.v)/n, n, trans, false, false)
	return nil
}

// ChannelGrams sets g (C, N, N) to the scalar products of the items of x in
// each channel.
func (e *Engine) ChannelGrams(g, x engine.Tensor) error {
	a := args{op: "channel grams"}
	d, v := a.get("g", g, 3), a.get("x", x, -1)
	n := a.items(v)
	if a.err != nil {
		return a.err
	}
	channels := v.shape[1]
	a.want(d, v, channels, n, n)
	a.apart(d, v)
	if a.err != nil {
		return a.err
	}
	item := len(v.v) / n
	area := item / channels
	for c := range channels {
		m := matrix{v: v.v[c*area:], stride: item}
		e.multiply(&product{
			m: n, n: n, k: area, left: m, right: matrix{v: m.v, stride: item, trans: true},
			sink: sink{v: d.v[c*n*n : (c+1)*n*n], rowStride: n, grid: row(n)},
		})
	}
	return nil
}

// items demands that x has items along axis 0 and channels along axis 1, and
// returns the number of items.
func (a *args) items(x view) int {
	if a.err != nil {
		return 0
	}
	if len(x.shape) < 2 {
		a.fail("%v has no axis 1", x)
		return 0
	}
	return x.shape[0]
}
