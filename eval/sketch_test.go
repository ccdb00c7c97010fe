package eval

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
)

// smooth are the metrics that have a sketch.
func smooth() []metric.Metric {
	return []metric.Metric{{P: 2}, {P: 2, Power: true}, {Restriction: metric.SoftSign, P: 2}, {Restriction: metric.ArcTan, P: 2},
		{Restriction: metric.TanH, P: 2}, {Restriction: metric.ISRU, Omega: 0.5, P: 2}}
}

func cpuEngine(t *testing.T) *cpu.Engine {
	e, err := cpu.New(cpu.Options{Threads: 2})
	fatal(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// Between any two values of the range, knots or not, the bound must hold.
func TestSketchKeepsWithinItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	base := blobs(seeded(83), 30, 4, 3, 0.5)
	for i, e := range []*Embeddings{base, scaled(base, 5)} {
		for j, m := range smooth() {
			if (i+j)%2 == 0 {
				continue
			}
			p := newSpread(2, nil, e)
			p.weigh(e)
			k := newKernel(m, p)
			if !k.solve() {
				t.Fatalf("%v: no eigenfunctions", m)
			}
			last := math.Inf(1)
			for terms := 1; terms <= maxTerms; terms++ {
				s := k.sketch(m, terms)
				if s.slack > 1.01*last {
					t.Errorf("%v: %d terms leave %.3g, one less %.3g", m, terms, s.slack, last)
				}
				last = s.slack
				one := *s // a row is one coordinate
				one.h, one.mean = 1, []float64{0}
				for range 2000 {
					a := float32(p.low + rng.Float64()*(p.high-p.low))
					b := float32(p.low + rng.Float64()*(p.high-p.low))
					if rng.IntN(2) == 0 {
						b = a + float32(rng.NormFloat64()*0.01*(p.high-p.low))
						b = max(float32(p.low), min(float32(p.high), b))
					}
					x, y := make([]float32, one.width()), make([]float32, one.width())
					one.left(x, []float32{a})
					one.right(y, []float32{b})
					fa, fb := one.facts([]float32{a}), one.facts([]float32{b})
					v := m.Restriction.Value(math.Abs(float64(a)-float64(b)), m.Omega)
					fb.mean = math.Abs(fb.mean)
					if miss := math.Abs(dot(x, y) + fa.mean - v*v); miss > one.error(fa, fb) {
						t.Fatalf("%v, %d terms: at %v and %v off by %.3g, bound %.3g", m, terms, a, b, miss, one.error(fa, fb))
					}
				}
			}
		}
	}
}

func TestSketchedSearchEqualsBruteForce(t *testing.T) {
	eng := cpuEngine(t)
	base := blobs(seeded(84), 12, 9, 7, 0.8)
	sets := map[string]*Embeddings{
		"plain": base, "grid": onGrid(base), "small": scaled(base, 0.01), "large": scaled(base, 30), "random": blobs(seeded(85), 108, 1, 7, 0),
		"shifted": shifted(base, 7),
	}
	for i := range sets["random"].Labels {
		sets["random"].Labels[i] /= 9
	}
	for i, name := range slices.Sorted(maps.Keys(sets)) {
		e := sets[name]
		for j, m := range smooth() {
			if (i+j)%2 == 0 {
				continue // half of the pairs are enough
			}
			for _, terms := range []int{1 + (i+j/2)%maxTerms} {
				search := SearchOptions{Self: LeaveOneOut(e.N), Memory: 4 * 108 * 40, terms: terms}
				for _, ties := range []TieRule{Pessimistic, RandomOrder} {
					opt := RetrievalOptions{Ties: ties, Seed: 5, SearchOptions: search}
					got, err := Retrieve(context.Background(), eng, e, e, m, opt)
					fatal(t, err)
					want := bruteRetrieval(m, e, e, opt.Self, ties, 5)
					if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) || got.Tied < 0 {
						t.Errorf("%s, %v, %v, %d terms: ranks differ from brute force", name, m, ties, terms)
					}
					opt.FirstOnly = true
					first, err := Retrieve(context.Background(), eng, e, e, m, opt)
					fatal(t, err)
					if !slices.Equal(first.FirstRank, want.FirstRank) {
						t.Errorf("%s, %v, %v, %d terms: first ranks alone differ from brute force", name, m, ties, terms)
					}
				}
				list, err := Neighbors(context.Background(), eng, e, e, m, 10, search)
				fatal(t, err)
				for q := range e.N {
					rows, _ := bruteOrder(m, e.Row(q), e, q, func(row int) uint64 { return uint64(row) })
					got, _ := list.Of(q)
					for i, row := range got {
						if int(row) != rows[i] {
							t.Fatalf("%s, %v, %d terms: neighbor %d of %d is %d, by brute force %d", name, m, terms, i, q, row, rows[i])
						}
					}
				}
			}
		}
	}
}
