package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// pairing is a metric between checked rows a (n, h) and b (k, h), or of groups of so
// many rows that lie one behind the other, each within itself. All of it is computed
// in full float32 or better, whatever the engine's precision.
type pairing struct {
	a, b    named
	groups  int
	n, k, h int
	metric  metric.Metric
}

func (g *args) pairing(a, b engine.Tensor, m metric.Metric) (p pairing) {
	p.a, p.b, p.metric = g.of("a", a, -1, -1), g.of("b", b, -1, -1), m
	if g.err != nil {
		return p
	}
	p.groups, p.n, p.k, p.h = 1, p.a.shape[0], p.b.shape[0], p.a.shape[1]
	g.check(p.b.shape[1] == p.h, "%v and %v differ in width", p.a, p.b)
	g.failed(m.Validate())
	return p
}

// curves names the kernels of a restriction.
var curves = [...]string{metric.Sigmoid: "sigmoid", metric.SoftSign: "softsign", metric.ArcTan: "arctan", metric.TanH: "tanh", metric.ISRU: "isru"}

// kernel says how the kernels of a sum over coordinates are asked for.
func (p pairing) kernel() kernels.Pairs {
	k := kernels.Pairs{Groups: p.groups, N: p.n, K: p.k, H: p.h, R: "linear", P: 2, By: 1, Rooted: p.metric.Kind == metric.Euclidean}
	switch m := p.metric; m.Kind {
	case metric.Manhattan:
		k.P = 1
	case metric.BRM:
		k.R, k.P, k.By, k.Omega = curves[m.Restriction], m.P, 1/float32(p.h), float32(m.Omega)
		k.Rooted = m.P == 2 && !m.Power
	}
	return k
}

// Pairwise sets d[i][j] = m(a_i, b_j).
func (e *Engine) Pairwise(d, a, b engine.Tensor, m metric.Metric) error {
	g := e.args("pairwise")
	p := g.pairing(a, b, m)
	if g.err != nil {
		return g.err
	}
	out := g.of("d", d, p.n, p.k)
	if g.apart(out, p.a, p.b); g.err != nil {
		return g.err
	}
	x, y := g.in(p.a, device.F32), g.in(p.b, device.F32)
	g.values(p, g.out(out, device.F32), x, y)
	return g.done()
}

// values sets d from rows x and y.
func (g *args) values(p pairing, d, x, y device.Ptr) {
	switch {
	case p.metric.Chords():
		g.chords(p, d, x, y)
	case p.metric.Kind == metric.Dot:
		g.dots(p, d, x, y)
	case p.metric.Kind == metric.Cosine:
		u, _ := g.unitRows(x, p.groups*p.n, p.h)
		v := u
		if x != y {
			v, _ = g.unitRows(y, p.groups*p.k, p.h)
		}
		g.dots(p, d, u, v)
		g.launch(kernels.ClipCosine(int64(p.groups)*int64(p.n)*int64(p.k), d))
	default:
		k, unit := p.kernel(), g.unit(p, x, y)
		cut, part := g.part(k.SplitValue)
		g.launch(k.Value(cut, d, part, x, y, unit)...)
	}
}

// dots sets d (n, k) to the scalar products of rows.
func (g *args) dots(p pairing, d, x, y device.Ptr) {
	g.inGroups(p, product{transB: true, m: p.n, n: p.k, k: p.h, a: x, b: y, c: d})
}

// inGroups multiplies the matrices of each group.
func (g *args) inGroups(p pairing, of product) {
	of.precision = device.Full
	all := of.gemm()
	all.Batch = p.groups
	all.StrideA, all.StrideB, all.StrideC = int64(of.m)*int64(of.k), int64(of.k)*int64(of.n), int64(of.m)*int64(of.n)
	g.gemm(all)
}

// unit returns a power of two on the device near the largest coordinate, in which
// squares stay in range; 0 where there are none.
func (g *args) unit(p pairing, x, y device.Ptr) device.Ptr {
	restricted := p.metric.Kind == metric.BRM
	if p.kernel().P == 1 || g.err != nil {
		return 0
	}
	bits := g.scratch(8)
	g.failed(g.eng.driver.Clear(bits, 8, g.eng.compute))
	unit := bits + 4
	g.launch(kernels.MaxMagnitude(int64(p.a.size), bits, x))
	if x != y {
		g.launch(kernels.MaxMagnitude(int64(p.b.size), bits, y))
	}
	g.launch(kernels.UnitOf(unit, bits, restricted))
	return unit
}

// unitRows returns x/|x| of every row, and the lengths.
func (g *args) unitRows(x device.Ptr, rows, h int) (u, sizes device.Ptr) {
	u, sizes = g.floats(rows*h), g.floats(rows)
	g.launch(kernels.UnitRows(rows, h, u, sizes, x))
	return u, sizes
}

// PairwiseGrad sets da and db from dd.
func (e *Engine) PairwiseGrad(da, db, dd, d, a, b engine.Tensor, m metric.Metric) error {
	g := e.args("pairwise gradient")
	p := g.pairing(a, b, m)
	if g.err != nil {
		return g.err
	}
	dist, up := g.of("d", d, p.n, p.k), g.of("dd", dd, p.n, p.k)
	gx, gy := g.maybe("da", da, p.n, p.h), g.maybe("db", db, p.k, p.h)
	if g.err != nil {
		return g.err
	}
	both := gx.there() && gy.there() && gx.ptr == gy.ptr
	g.check(!both || p.a.ptr == p.b.ptr, "da and db are one tensor, a and b are two")
	g.apart(gx, p.a, p.b, dist, up)
	if g.apart(gy, p.a, p.b, dist, up); g.err != nil {
		return g.err
	}
	s := slopes{pairing: p, both: both, x: g.in(p.a, device.F32), y: g.in(p.b, device.F32), dd: g.in(up, device.F32), d: g.in(dist, device.F32)}
	if gx.there() {
		s.da = g.out(gx, device.F32)
	}
	switch {
	case both:
		s.db = s.da
	case gy.there():
		s.db = g.out(gy, device.F32)
	}
	g.gradients(s)
	return g.done()
}

// gradients sets da and db.
func (g *args) gradients(s slopes) {
	switch {
	case s.metric.Chords():
		g.chordGrad(s)
	case s.metric.Kind == metric.Dot:
		g.dotGrad(s)
	case s.metric.Kind == metric.Cosine:
		g.cosineGrad(s)
	default:
		g.sumGrad(s)
	}
}

// slopes are the arguments of a gradient; da or db is 0 if nobody needs it, and
// if both they are one place.
type slopes struct {
	pairing
	both        bool
	x, y, dd, d device.Ptr
	da, db      device.Ptr
}

// sumGrad is the gradient of BRM, Manhattan and the Euclidean metrics.
func (g *args) sumGrad(s slopes) {
	k := s.kernel()
	c := g.floats(s.groups * s.n * s.k)
	g.launch(k.Slopes(c, s.dd, s.d))
	if s.both {
		cut, part := g.part(k.SplitA)
		g.launch(k.GradBoth(cut, s.da, part, c, s.x)...)
		return
	}
	if s.da != 0 {
		cut, part := g.part(k.SplitA)
		g.launch(k.GradA(cut, s.da, part, c, s.x, s.y)...)
	}
	if s.db != 0 {
		cut, part := g.part(k.SplitB)
		g.launch(k.GradB(cut, s.db, part, c, s.x, s.y)...)
	}
}

// part asks how a kernel of pairs is cut on this device, and returns room for its parts.
func (g *args) part(split func(processors int) (kernels.Split, int64)) (kernels.Split, device.Ptr) {
	s, n := split(g.eng.driver.Properties().Processors)
	if n == 0 {
		return s, 0
	}
	return s, g.scratch(4 * n)
}

// dotGrad: da = dd b, db = dd^T a.
func (g *args) dotGrad(s slopes) {
	if s.da != 0 {
		g.inGroups(s.pairing, product{m: s.n, n: s.h, k: s.k, a: s.dd, b: s.y, c: s.da})
	}
	if s.db != 0 {
		g.inGroups(s.pairing, product{transA: true, m: s.k, n: s.h, k: s.n, a: s.dd, b: s.x, c: s.db, accumulate: s.both})
	}
}

// cosineGrad has the products of dd with the other side's unit rows, less what
// lies along the row itself.
func (g *args) cosineGrad(s slopes) {
	rows, others := s.groups*s.n, s.groups*s.k
	u, lengthsA := g.unitRows(s.x, rows, s.h)
	v, lengthsB := u, lengthsA
	if s.x != s.y {
		v, lengthsB = g.unitRows(s.y, others, s.h)
	}
	if s.da != 0 {
		sum := g.floats(rows * s.h)
		g.inGroups(s.pairing, product{m: s.n, n: s.h, k: s.k, a: s.dd, b: v, c: sum})
		g.launch(kernels.CosineDX(s.groups, s.n, s.k, s.h, s.da, sum, u, lengthsA, s.dd, s.d, false, false))
	}
	if s.db != 0 {
		sum := g.floats(others * s.h)
		g.inGroups(s.pairing, product{transA: true, m: s.k, n: s.h, k: s.n, a: s.dd, b: u, c: sum})
		g.launch(kernels.CosineDX(s.groups, s.k, s.n, s.h, s.db, sum, v, lengthsB, s.dd, s.d, true, s.both))
	}
}
