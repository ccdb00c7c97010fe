//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/metric"
)

// pairsOf says how a metric's kernels are asked for.
func pairsOf(m metric.Metric, n, k, h int) kernels.Pairs {
	p := kernels.Pairs{N: n, K: k, H: h, R: "linear", P: 2, By: 1, Rooted: m.Kind == metric.Euclidean}
	if m.Kind == metric.Manhattan {
		p.P = 1
	}
	if m.Kind == metric.BRM {
		names := map[metric.Restriction]string{metric.Sigmoid: "sigmoid", metric.SoftSign: "softsign", metric.ArcTan: "arctan", metric.TanH: "tanh", metric.ISRU: "isru"}
		p.R, p.P, p.By, p.Omega = names[m.Restriction], m.P, 1/float32(h), float32(m.Omega)
		p.Rooted = m.P == 2 && !m.Power
	}
	return p
}

func everyPairMetric() []metric.Metric {
	out := []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.SquaredEuclidean}, {Kind: metric.Manhattan}}
	for _, r := range []metric.Restriction{metric.Sigmoid, metric.SoftSign, metric.ArcTan, metric.TanH, metric.ISRU} {
		for _, m := range []metric.Metric{{P: 1}, {P: 2}, {P: 2, Power: true}} {
			m.Kind, m.Restriction = metric.BRM, r
			if r == metric.ISRU {
				m.Omega = .7
			}
			out = append(out, m)
		}
	}
	return out
}

func TestPairKernelsAgreeWithTheMetric(t *testing.T) {
	for _, m := range everyPairMetric() {
		for _, s := range [][4]int{{1, 1, 1, 0}, {5, 7, 3, 132}, {65, 66, 33, 0}, {9, 130, 70, 132}} {
			processors := s[3] // 0: nothing is split
			for _, scale := range []float32{1, .01, 30} {
				if scale != 1 && s[0] != 5 {
					continue
				}
				b := newBench(t)
				n, k, h := s[0], s[1], s[2]
				x, y, dd := b.normal(n*h), b.normal(k*h), b.normal(n*k)
				for i := range x {
					x[i] *= scale
				}
				for i := range y {
					y[i] *= scale
				}
				copy(y, x[:min(h, len(x))]) // a pair at distance 0
				p := pairsOf(m, n, k, h)
				dX, dY, dDD := b.up(kernels.F32, x), b.up(kernels.F32, y), b.up(kernels.F32, dd)
				d, c := b.empty(kernels.F32, n*k), b.empty(kernels.F32, n*k)
				da, db := b.empty(kernels.F32, n*h), b.empty(kernels.F32, k*h)
				cut, size := p.SplitValue(processors)
				b.run(p.Value(cut, d.Ptr(), b.empty(kernels.F32, int(size)+1).Ptr(), dX.Ptr(), dY.Ptr(), 0)...)
				b.run(p.Slopes(c.Ptr(), dDD.Ptr(), d.Ptr()))
				cut, size = p.SplitA(processors)
				b.run(p.GradA(cut, da.Ptr(), b.empty(kernels.F32, int(size)+1).Ptr(), c.Ptr(), dX.Ptr(), dY.Ptr())...)
				cut, size = p.SplitB(processors)
				b.run(p.GradB(cut, db.Ptr(), b.empty(kernels.F32, int(size)+1).Ptr(), c.Ptr(), dX.Ptr(), dY.Ptr())...)
				tx, ty, tdd := b.tensor(x, n, h), b.tensor(y, k, h), b.tensor(dd, n, k)
				td, tda, tdb := b.tensor(nil, n, k), b.tensor(nil, n, h), b.tensor(nil, k, h)
				b.must(b.ref.Pairwise(td, tx, ty, m))
				b.must(b.ref.PairwiseGrad(tda, tdb, tdd, td, tx, ty, m))
				b.same(m.String(), kernels.F32, d.down(), b.read(td), 2e-6)
				if d.down()[0] != 0 {
					t.Errorf("%v: equal rows are %v apart", m, d.down()[0])
				}
				b.same(m.String()+" da", kernels.F32, da.down(), b.read(tda), 2e-5)
				b.same(m.String()+" db", kernels.F32, db.down(), b.read(tdb), 2e-5)
			}
		}
	}
}

func TestLinearPairsInTheirUnitNeitherOverflowNorVanish(t *testing.T) {
	for _, processors := range []int{0, 132} {
		for _, scale := range []float32{1e-30, 1e30} {
			b := newBench(t)
			const n, h = 6, 70
			x := b.normal(n * h)
			for i := range x {
				x[i] *= scale
			}
			dX, bits, unit, d := b.up(kernels.F32, x), b.up(kernels.F32, []float32{0}), b.empty(kernels.F32, 1), b.empty(kernels.F32, n*n)
			p := pairsOf(metric.Metric{Kind: metric.Euclidean}, n, n, h)
			cut, size := p.SplitValue(processors)
			part := b.empty(kernels.F32, int(size)+1)
			b.run(kernels.MaxMagnitude(n*h, bits.Ptr(), dX.Ptr()), kernels.UnitOf(unit.Ptr(), bits.Ptr(), false))
			b.run(p.Value(cut, d.Ptr(), part.Ptr(), dX.Ptr(), dX.Ptr(), unit.Ptr())...)
			tx, td := b.tensor(x, n, h), b.tensor(nil, n, n)
			b.must(b.ref.Pairwise(td, tx, tx, metric.Metric{Kind: metric.Euclidean}))
			b.same("distance", kernels.F32, d.down(), b.read(td), 1e-6)
		}
	}
}

// A split fills at most twice the multiprocessors where the sum is long enough, and
// covers it.
func TestSumsOfPairsAreSplitOverTheDevice(t *testing.T) {
	for _, c := range []struct {
		n, k, h, processors      int
		value, gradA, gradB      kernels.Split
		scratch, scratchA, sizeB int64
	}{
		// BRM with 11,318 proxies: only da has few blocks.
		{128, 11318, 512, 132, kernels.Split{Parts: 1, Per: 512}, kernels.Split{Parts: 16, Per: 720}, kernels.Split{Parts: 1, Per: 128}, 0, 16 * 128 * 512, 0},
		{180, 180, 512, 132, kernels.Split{Parts: 16, Per: 32}, kernels.Split{Parts: 4, Per: 48}, kernels.Split{Parts: 4, Per: 48}, 16 * 180 * 180, 4 * 180 * 512, 4 * 180 * 512},
		{1, 1, 1, 132, kernels.Split{Parts: 1, Per: 16}, kernels.Split{Parts: 1, Per: 16}, kernels.Split{Parts: 1, Per: 16}, 0, 0, 0},
	} {
		p := pairsOf(metric.Metric{Kind: metric.BRM, Restriction: metric.TanH, P: 1}, c.n, c.k, c.h)
		v, sv := p.SplitValue(c.processors)
		a, sa := p.SplitA(c.processors)
		b, sb := p.SplitB(c.processors)
		if v != c.value || a != c.gradA || b != c.gradB || sv != c.scratch || sa != c.scratchA || sb != c.sizeB {
			t.Errorf("%d x %d x %d: %v, %v, %v with room for %d, %d, %d numbers, want %v, %v, %v with %d, %d, %d",
				c.n, c.k, c.h, v, a, b, sv, sa, sb, c.value, c.gradA, c.gradB, c.scratch, c.scratchA, c.sizeB)
		}
	}
}

// Of rows with themselves one pass gives what both sides add up to, of every group.
func TestGradBothIsTheSumOfTheSides(t *testing.T) {
	const groups, n, h = 2, 70, 33
	for _, m := range everyPairMetric() {
		for _, processors := range []int{0, 132} {
			b := newBench(t)
			p := pairsOf(m, n, n, h)
			p.Groups = groups
			x, c := b.up(kernels.F32, b.normal(groups*n*h)), b.up(kernels.F32, b.normal(groups*n*n))
			da, db, both := b.empty(kernels.F32, groups*n*h), b.empty(kernels.F32, groups*n*h), b.empty(kernels.F32, groups*n*h)
			cut, size := p.SplitA(processors)
			part := b.empty(kernels.F32, int(size)+1)
			b.run(p.GradA(cut, da.Ptr(), part.Ptr(), c.Ptr(), x.Ptr(), x.Ptr())...)
			b.run(p.GradB(cut, db.Ptr(), part.Ptr(), c.Ptr(), x.Ptr(), x.Ptr())...)
			b.run(p.GradBoth(cut, both.Ptr(), part.Ptr(), c.Ptr(), x.Ptr())...)
			want, other := da.down(), db.down()
			for i := range want {
				want[i] += other[i]
			}
			b.same(m.String(), kernels.F32, both.down(), want, 2e-6)
		}
	}
}

// With the products that a library makes, done here by hand.
func TestCosineGradientKernel(t *testing.T) {
	b := newBench(t)
	const n, k, h = 5, 9, 40
	m := metric.Metric{Kind: metric.Cosine}
	x, y, dd := b.normal(n*h), b.normal(k*h), b.normal(n*k)
	clear(y[h : 2*h])
	u, su, v, sv := b.empty(kernels.F32, n*h), b.empty(kernels.F32, n), b.empty(kernels.F32, k*h), b.empty(kernels.F32, k)
	b.run(kernels.UnitRows(n, h, u.Ptr(), su.Ptr(), b.up(kernels.F32, x).Ptr()), kernels.UnitRows(k, h, v.Ptr(), sv.Ptr(), b.up(kernels.F32, y).Ptr()))
	U, V := u.down(), v.down()
	d, ga, gb := make([]float32, n*k), make([]float32, n*h), make([]float32, k*h)
	for i := range n {
		for j := range k {
			for c := range h {
				d[i*k+j] += U[i*h+c] * V[j*h+c]
				ga[i*h+c] += dd[i*k+j] * V[j*h+c]
				gb[j*h+c] += dd[i*k+j] * U[i*h+c]
			}
		}
	}
	dD, dDD := b.up(kernels.F32, d), b.up(kernels.F32, dd)
	b.run(kernels.ClipCosine(n*k, dD.Ptr()))
	da, db := b.empty(kernels.F32, n*h), b.empty(kernels.F32, k*h)
	b.run(kernels.CosineDX(1, n, k, h, da.Ptr(), b.up(kernels.F32, ga).Ptr(), u.Ptr(), su.Ptr(), dDD.Ptr(), dD.Ptr(), false, false),
		kernels.CosineDX(1, k, n, h, db.Ptr(), b.up(kernels.F32, gb).Ptr(), v.Ptr(), sv.Ptr(), dDD.Ptr(), dD.Ptr(), true, false))
	tx, ty, tdd := b.tensor(x, n, h), b.tensor(y, k, h), b.tensor(dd, n, k)
	td, tda, tdb := b.tensor(nil, n, k), b.tensor(nil, n, h), b.tensor(nil, k, h)
	b.must(b.ref.Pairwise(td, tx, ty, m))
	b.must(b.ref.PairwiseGrad(tda, tdb, tdd, td, tx, ty, m))
	b.same("cosine", kernels.F32, dD.down(), b.read(td), 1e-6)
	b.same("da", kernels.F32, da.down(), b.read(tda), 5e-6)
	b.same("db", kernels.F32, db.down(), b.read(tdb), 5e-6)
}

func TestClipCosineKeepsNaN(t *testing.T) {
	b := newBench(t)
	nan := float32(math.NaN())
	d := b.up(kernels.F32, []float32{1.0000001, -1.0000001, .5, nan})
	b.run(kernels.ClipCosine(4, d.Ptr()))
	b.same("cosines", kernels.F32, d.down(), []float32{1, -1, .5, nan}, 0)
}
