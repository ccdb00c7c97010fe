package cpu

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// groupRows is about how many rows of whole groups make one item.
const groupRows = 64

// groupArgs are the checked arguments of operations on groups of rows, each of which
// is a pairwise operation of its own.
type groupArgs struct {
	d, a, dd, da []float32 // (n, k), (n, h), (n, k), (n, h)
	n, k, h      int
	metric       metric.Metric
}

func (g *args) groups(d, a engine.Tensor, m metric.Metric) (p groupArgs, dv, av view) {
	dv, av = g.get("d", d, 2), g.get("a", a, 2)
	if g.err != nil {
		return p, dv, av
	}
	if err := m.Validate(); err != nil {
		g.fail("%w", err)
	}
	p = groupArgs{d: dv.v, a: av.v, n: dv.shape[0], k: dv.shape[1], h: av.shape[1], metric: m}
	if p.n%p.k != 0 {
		g.fail("%v has %d rows, want a multiple of its columns", dv, p.n)
	}
	g.want(av, dv, p.n, p.h)
	g.apart(dv, av)
	return p, dv, av
}

// PairwiseGroups sets d[i][j] = m(a_i, row j of its group).
func (e *Engine) PairwiseGroups(d, a engine.Tensor, m metric.Metric) error {
	g := args{op: "pairwise groups"}
	p, _, _ := g.groups(d, a, m)
	if g.err == nil {
		e.groups(&p, func(e *Engine, of *pairArgs, _, _ []float32) { e.pairValues(of) })
	}
	return g.err
}

// PairwiseGroupsGrad sets da from dd.
func (e *Engine) PairwiseGroupsGrad(da, dd, d, a engine.Tensor, m metric.Metric) error {
	g := args{op: "pairwise groups gradient"}
	p, dv, av := g.groups(d, a, m)
	up, out := g.get("dd", dd, 2), g.get("da", da, 2)
	if g.err == nil {
		g.same(up, dv)
		g.same(out, av)
		g.apart(out, up, dv, av)
	}
	if g.err == nil {
		p.dd, p.da = up.v, out.v
		e.groups(&p, func(e *Engine, of *pairArgs, da, dd []float32) { e.pairGrads(of, da, da, dd) })
	}
	return g.err
}

// groups calls do for every group. A group is too little to share between workers,
// so each has groups of its own, and to compute them an engine of one thread.
func (e *Engine) groups(p *groupArgs, do func(e *Engine, of *pairArgs, da, dd []float32)) {
	if e.alone == nil {
		for range e.pool.threads {
			e.alone = append(e.alone, &Engine{kernels: e.kernels, keeper: e.keeper, pool: newPool(1), scratch: scratch{workers: make([]workerScratch, 1)}})
		}
	}
	size := max(1, groupRows/p.k) * p.k
	e.pool.run(ceilDiv(p.n, size), func(worker, item int) {
		part := func(x []float32, i, width int) []float32 {
			if x == nil {
				return nil
			}
			return x[i*width : (i+p.k)*width]
		}
		for i := item * size; i < min((item+1)*size, p.n); i += p.k {
			rows := part(p.a, i, p.h)
			of := pairArgs{d: part(p.d, i, p.k), a: rows, b: rows, n: p.k, k: p.k, h: p.h, same: true, metric: p.metric}
			do(e.alone[worker], &of, part(p.da, i, p.h), part(p.dd, i, p.k))
		}
	})
}
