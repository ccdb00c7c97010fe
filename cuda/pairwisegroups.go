package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// groups is the pairing of groups of rows of a (n, h), each with itself, of which d
// says the size.
func (g *args) groups(d, a engine.Tensor, m metric.Metric) (p pairing, dist named) {
	dist = g.of("d", d, -1, -1)
	p.a, p.metric = g.of("a", a, -1, -1), m
	if g.err != nil {
		return p, dist
	}
	n, k := dist.shape[0], dist.shape[1]
	g.check(p.a.shape[0] == n && n%k == 0, "%v and %v, want as many rows, a multiple of the columns", dist, p.a)
	g.failed(m.Validate())
	p.b, p.groups, p.n, p.k, p.h = p.a, n/k, k, k, p.a.shape[1]
	return p, dist
}

// PairwiseGroups sets d[i][j] = m(a_i, row j of its group).
func (e *Engine) PairwiseGroups(d, a engine.Tensor, m metric.Metric) error {
	g := e.args("pairwise groups")
	p, out := g.groups(d, a, m)
	if g.apart(out, p.a); g.err != nil {
		return g.err
	}
	x := g.in(p.a, device.F32)
	g.values(p, g.out(out, device.F32), x, x)
	return g.done()
}

// PairwiseGroupsGrad sets da from dd.
func (e *Engine) PairwiseGroupsGrad(da, dd, d, a engine.Tensor, m metric.Metric) error {
	g := e.args("pairwise groups gradient")
	p, dist := g.groups(d, a, m)
	if g.err != nil {
		return g.err
	}
	up, to := g.of("dd", dd, dist.shape...), g.of("da", da, p.a.shape...)
	if g.apart(to, p.a, dist, up); g.err != nil {
		return g.err
	}
	x := g.in(p.a, device.F32)
	s := slopes{pairing: p, both: true, x: x, y: x, dd: g.in(up, device.F32), d: g.in(dist, device.F32)}
	s.da = g.out(to, device.F32)
	s.db = s.da
	g.gradients(s)
	return g.done()
}
