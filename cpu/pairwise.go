package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/approx"
	"github.com/vernier-ml/vernier/metric"
)

// pairArgs are the checked arguments of Pairwise and PairwiseGrad.
type pairArgs struct {
	d, a, b []float32 // (n, k), (n, h), (k, h)
	n, k, h int
	same    bool // a and b are one matrix
	metric  metric.Metric
}

func (g *args) pairs(d, a, b engine.Tensor, m metric.Metric) pairArgs {
	dv, av, bv := g.get("d", d, 2), g.get("a", a, 2), g.get("b", b, 2)
	if g.err != nil {
		return pairArgs{}
	}
	if err := m.Validate(); err != nil {
		g.fail("%w", err)
	}
	p := pairArgs{d: dv.v, a: av.v, b: bv.v, n: av.shape[0], k: bv.shape[0], h: av.shape[1], metric: m}
	p.same = p.n == p.k && &p.a[0] == &p.b[0]
	g.want(bv, av, p.k, p.h)
	g.want(dv, av, p.n, p.k)
	g.apart(dv, av, bv)
	return p
}

func (p *pairArgs) row(v []float32, i int) []float32 { return v[i*p.h : (i+1)*p.h] }

// Pairwise sets d[i][j] = m(a_i, b_j). Distances are sums of float32 terms;
// where such a sum has lost digits to underflow or overflow, the entry is
// computed again in float64.
func (e *Engine) Pairwise(d, a, b engine.Tensor, m metric.Metric) error {
	g := args{op: "pairwise"}
	p := g.pairs(d, a, b, m)
	if g.err != nil {
		return g.err
	}
	e.pairValues(&p)
	return nil
}

// pairValues sets d.
func (e *Engine) pairValues(p *pairArgs) {
	switch p.metric.Kind {
	case metric.Dot:
		e.dots(p, p.a, p.b)
		e.pool.run(p.n, func(_, i int) {
			if !e.kernels.finite(p.d[i*p.k : (i+1)*p.k]) {
				p.hardRow(i, func(v float32) bool { return v-v != 0 })
			}
		})
	case metric.Cosine:
		e.cosines(p)
	case metric.SignalToNoise, metric.Poincare, metric.Lorentz:
		e.chords(p)
	default:
		e.distances(p)
	}
}

func (p *pairArgs) hardRow(i int, hard func(float32) bool) {
	for j, v := range p.d[i*p.k : (i+1)*p.k] {
		if hard(v) {
			p.d[i*p.k+j] = saturate(p.metric.Value(p.row(p.a, i), p.row(p.b, j)))
		}
	}
}

// saturate rounds to float32, a finite number to a finite one.
func saturate(x float64) float32 {
	if f := float32(x); !math.IsInf(float64(f), 0) || math.IsInf(x, 0) {
		return f
	}
	return float32(math.Copysign(math.MaxFloat32, x))
}

// pairRows and pairCols are the block of distances that makes one item.
const (
	pairRows = 16
	pairCols = 64
	// maxTerms is how many coordinates are summed in float32.
	maxTerms = 1024
)

func (e *Engine) distances(p *pairArgs) {
	s := newPairSum(e.kernels, p.metric, p.h)
	rows, cols := ceilDiv(p.n, pairRows), ceilDiv(p.k, pairCols)
	e.pool.run(rows*cols, func(worker, item int) {
		part := grow(&e.scratch.workers[worker].rows, pairCols)
		i0, j0 := item/cols*pairRows, item%cols*pairCols
		i1, j1 := min(i0+pairRows, p.n), min(j0+pairCols, p.k)
		if p.same && j1 <= i0 {
			return // the mirror image of a block above the diagonal
		}
		var sums [pairCols]float64
		for i := i0; i < i1; i++ {
			from := j0
			if p.same {
				from = max(j0, i)
			}
			if from >= j1 {
				break
			}
			s.sum(sums[:j1-from], part, p.row(p.a, i), p.b[from*p.h:])
			for j := from; j < j1; j++ {
				v := s.value(sums[j-from], p, i, j)
				p.d[i*p.k+j] = v
				if p.same {
					p.d[j*p.k+i] = v
				}
			}
		}
	})
}

// pairSum turns sums of a curve into values of a metric.
type pairSum struct {
	kernel pairKernels
	args   curveArgs
	unit   float64 // factor of the sum: 1/h for BRM, and what the kernel leaves out
	root   bool    // the value is the square root of the sum
	tiny   float64 // smaller sums have lost digits
}

func newPairSum(kr *kernels, m metric.Metric, h int) pairSum {
	s := pairSum{unit: 1, root: m.Kind == metric.Euclidean, tiny: 1e-30}
	s.args.value, s.args.slope = 1, 1
	if m.Kind != metric.BRM {
		s.kernel = kr.pairs[identity][1]
		if m.Kind == metric.Manhattan {
			s.kernel = kr.pairs[identity][0]
		}
		s.args.limit = math.MaxFloat32
		return s
	}
	s.kernel = kr.pairs[m.Restriction][m.P-1]
	s.root = m.P == 2 && !m.Power
	s.args.grids = kr.grids[m.Restriction]
	falls := m.Restriction == metric.Sigmoid || m.Restriction == metric.TanH
	switch {
	case falls && kr.grids != nil:
		s.args.limit = float32(math.Ldexp(approx.GridEntries-1, -fallBits(m.Restriction)))
	case m.Restriction == metric.Sigmoid:
		s.args.limit, s.args.slope = approx.FarExp, 2
	case m.Restriction == metric.TanH:
		s.args.limit, s.args.slope = approx.FarExp/2, 4
	case m.Restriction == metric.ISRU:
		root := math.Sqrt(m.Omega)
		s.args.root, s.args.value = float32(root), 1/root
		s.args.limit = float32(math.Min(approx.FarRational/root, math.MaxFloat32))
		if f := float64(s.args.root); f < 1e-30 || f > 1e30 {
			s.tiny = math.Inf(1) // leave everything to float64
		}
	default:
		s.args.limit = approx.FarRational
	}
	s.unit = math.Pow(s.args.value, float64(m.P)) / float64(h)
	return s
}

// sum sets sums[j] for len(sums) rows of b. part is for as many numbers.
func (s *pairSum) sum(sums []float64, part, a, b []float32) {
	h := len(a)
	clear(sums)
	for c := 0; c < h; c += maxTerms {
		s.kernel.sums(part[:len(sums)], a[c:min(c+maxTerms, h)], b[c:], h, s.args)
		for j := range sums {
			sums[j] += float64(part[j])
		}
	}
}

func (s *pairSum) value(sum float64, p *pairArgs, i, j int) float32 {
	if !(sum > s.tiny) || math.IsInf(sum, 0) {
		if sum == 0 && p.same && i == j {
			return 0
		}
		return saturate(p.metric.Value(p.row(p.a, i), p.row(p.b, j)))
	}
	v := sum * s.unit
	if s.root {
		v = math.Sqrt(v)
	}
	return saturate(v)
}
