package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// testMetrics is one metric of each family, and BRM in each of its forms.
func testMetrics() []metric.Metric {
	list := []metric.Metric{
		{Kind: metric.BRM, P: 2, Power: true},
		{Kind: metric.BRM, P: 1, Restriction: metric.SoftSign},
		{Kind: metric.BRM, P: 2, Restriction: metric.ArcTan},
		{Kind: metric.BRM, P: 1, Restriction: metric.TanH},
		{Kind: metric.BRM, P: 2, Restriction: metric.ISRU, Omega: 0.5},
	}
	for _, info := range metric.Infos() {
		list = append(list, info.Metric)
	}
	return list
}

// situation is a small batch.
type situation struct {
	name   string
	x      rowsOf
	labels []int
}

// situations are batches on which losses went wrong in the field. Rows are of
// length sqrt(h) for BRM and 1 otherwise, as in training.
func situations(m metric.Metric) []situation {
	rng := rand.New(rand.NewPCG(7, 11))
	const n, h = 7, 4
	draw := func() rowsOf {
		x := rowsOf{make([]float64, n*h), n, h}
		for k := range x.x {
			x.x[k] = rng.NormFloat64()
		}
		x = x.normalized()
		if m.Kind == metric.BRM {
			for k := range x.x {
				x.x[k] *= math.Sqrt(h)
			}
		}
		return x
	}
	duplicates := draw()
	copy(duplicates.row(1), duplicates.row(0)) // one class
	copy(duplicates.row(5), duplicates.row(3)) // two classes
	identical := draw()
	for i := range n {
		copy(identical.row(i), identical.row(0))
	}
	balanced := []int{0, 0, 0, 1, 1, 2, 2}
	return []situation{
		{"balanced", draw(), balanced},
		{"singletons", draw(), []int{3, 0, 0, 1, 2, 2, 4}},
		{"one class", draw(), []int{0, 0, 0, 0, 0, 0, 0}},
		{"all distinct", draw(), []int{0, 1, 2, 3, 4, 5, 6}},
		{"duplicates", duplicates, balanced},
		{"all identical", identical, balanced},
	}
}

// problem is a loss of everything that it depends on, in one vector.
type problem struct {
	x    []float64
	eval func(t *testing.T, x []float64, grad []float64) Result
}

// problemOf makes the loss a function of embeddings and, where it has any,
// class rows.
func problemOf(l Loss, m metric.Metric, s situation) problem {
	size := len(s.x.x)
	p := rowsOf{nil, 0, s.x.h}
	const numClasses = 7
	if l.Columns() == Classes {
		rng := rand.New(rand.NewPCG(3, 5))
		n := numClasses * PerClass(l)
		p = rowsOf{make([]float64, n*s.x.h), n, s.x.h}
		for k := range p.x {
			p.x[k] = rng.NormFloat64()
		}
	}
	return problem{
		x: slices.Concat(s.x.x, p.x),
		eval: func(t *testing.T, at, grad []float64) Result {
			t.Helper()
			x := rowsOf{at[:size], s.x.n, s.x.h}
			w := rowsOf{at[size:], p.n, p.h}
			clear(grad)
			dx, dw := rowsOf{grad[:size], x.n, x.h}, rowsOf{grad[size:], w.n, w.h}
			matrix := batch(m, x, s.labels)
			if l.Columns() == Classes {
				matrix = classes(m, x, w, s.labels, PerClass(l))
			}
			g := make([]float64, len(matrix.V))
			for k := range g {
				g[k] = math.NaN() // Eval overwrites
			}
			r, err := l.Eval(matrix, g)
			if err != nil {
				t.Fatal(err)
			}
			if l.Columns() == Classes {
				pairwiseGrad(m, g, x, w, dx, dw)
			} else {
				pairwiseGrad(m, g, x, x, dx, dx)
			}
			return r
		},
	}
}

// everyLoss calls fn for all losses by name, and for variants of them, on all
// metrics.
func everyLoss(t *testing.T, fn func(t *testing.T, name string, l Loss, m metric.Metric)) {
	t.Helper()
	variants := map[string][]map[string]string{
		"contrastive":            {{"hinge": "plain", "reduction": "mean"}, {"pairs": "joint", "reduction": "anchor"}, {"u": "0.1sphere", "v": "0.5sphere"}},
		"triplet":                {{"mining": "semihard"}, {"mining": "hard", "reduction": "anchor"}, {"mining": "batch-hard"}, {"mining": "nearest-semihard"}, {"mining": "easy-positive"}, {"mining": "angular"}, {"mining": "distance-weighted"}, {"mining": "uniform", "per-anchor": "3"}, {"mining": "semihard", "per-anchor": "1"}, {"swap": "true"}, {"smooth": "true", "reduction": "mean"}, {"swap": "true", "smooth": "true", "mining": "semihard"}},
		"npairs":                 {{"pairs": "classic"}, {"temperature": "1"}},
		"multi-similarity":       {{"mining": "none", "duplicates": "keep"}, {"mining": "none"}},
		"pairwise-cross-entropy": {{"pairs": "first"}},
		"margin":                 {{"learn": "class", "nu": "0.1"}, {"learn": "none"}},
		"quadruplet":             {{"reduction": "mean"}},
		"proxy-nca":              {{"denominator": "others"}, {"smoothing": "0.1"}},
		"soft-triple":            {{"centers": "3"}, {"centers": "1"}},
		"arcface":                {{"centers": "2"}, {"margin": "120"}},
		"triplet-bound":          {{"centroids": "one-hot"}},
	}
	for _, m := range testMetrics() {
		for _, name := range ofMatrices() {
			for _, params := range append([]map[string]string{nil}, variants[name]...) {
				l, err := New(name, Options{Metric: m, Params: params, Classes: 7, Dim: 4})
				if err != nil {
					t.Fatal(err)
				}
				t.Run(fmt.Sprintf("%v/%s%v", m, name, params), func(t *testing.T) { fn(t, name, l, m) })
			}
		}
	}
}

// Finite differences of every loss on every metric through to the embeddings.
// At a distance of 0 the gradient of a distance is 0, which is also what a
// central difference gives.
func TestGradientIsThatOfTheValue(t *testing.T) {
	everyLoss(t, func(t *testing.T, name string, l Loss, m metric.Metric) {
		for _, s := range situations(m) {
			p := problemOf(l, m, s)
			grad, scratch := make([]float64, len(p.x)), make([]float64, len(p.x))
			r := p.eval(t, p.x, grad)
			if r.Value-r.Value != 0 {
				t.Fatalf("%s: value %v", s.name, r.Value)
			}
			if r.Active == 0 && (r.Value != 0 || slices.ContainsFunc(grad, func(g float64) bool { return g != 0 })) {
				t.Errorf("%s: nothing active, but value %v, gradient %v", s.name, r.Value, grad)
			}
			if slices.ContainsFunc(grad, func(g float64) bool { return g-g != 0 }) {
				t.Errorf("%s: gradient %v", s.name, grad)
			}
			if r.Active > r.Total || r.Active < 0 {
				t.Errorf("%s: %d of %d terms active", s.name, r.Active, r.Total)
			}
			if draws(l) {
				continue // the next step draws other terms
			}
			if _, ok := inner(l).(*Circle); ok {
				continue // its gradient holds weights: TestCircleGradientHoldsItsWeights
			}
			tied := s.name == "duplicates" || s.name == "all identical"
			if tied && selects(l) {
				continue // at a tie the next step picks other terms
			}
			if _, ok := l.(*viewed); ok && tied && m.Kind == metric.Dot {
				continue // a dot product goes beyond 1, where what it stands for ends
			}
			const step = 1e-6
			for k := range p.x {
				x := slices.Clone(p.x)
				x[k] += step
				up := p.eval(t, x, scratch).Value
				x[k] -= 2 * step
				down := p.eval(t, x, scratch).Value
				want := (up - down) / (2 * step)
				if limit := 1e-5*(1+math.Abs(want)) + 1e-9*math.Abs(r.Value)/step*1e-1; math.Abs(grad[k]-want) > limit {
					t.Errorf("%s: gradient %d is %v, by differences %v", s.name, k, grad[k], want)
				}
			}
		}
	})
}

// The order of the rows means nothing (except to the losses that name the
// first rows of a class).
func TestPermutingTheBatchPermutesTheGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	everyLoss(t, func(t *testing.T, name string, l Loss, m metric.Metric) {
		if dependsOnOrder(l) || draws(l) {
			t.Skip("takes the first rows of each class, or draws its terms")
		}
		for _, s := range situations(m) {
			p := problemOf(l, m, s)
			grad := make([]float64, len(p.x))
			want := p.eval(t, p.x, grad)

			perm := rng.Perm(s.x.n)
			shuffled := situation{s.name, s.x.like(), make([]int, s.x.n)}
			for to, from := range perm {
				copy(shuffled.x.row(to), s.x.row(from))
				shuffled.labels[to] = s.labels[from]
			}
			p = problemOf(l, m, shuffled)
			permuted := make([]float64, len(p.x))
			got := p.eval(t, p.x, permuted)
			if math.Abs(got.Value-want.Value) > 1e-12*(1+math.Abs(want.Value)) || got.Active != want.Active || got.Total != want.Total {
				t.Errorf("%s: %+v, permuted %+v", s.name, want, got)
			}
			if s.name == "duplicates" || s.name == "all identical" {
				continue // a tie may go to another of equal rows
			}
			for to, from := range perm {
				for k := range s.x.h {
					if a, b := permuted[to*s.x.h+k], grad[from*s.x.h+k]; math.Abs(a-b) > 1e-10*(1+math.Abs(b)) {
						t.Errorf("%s: row %d: gradient %v, permuted %v", s.name, from, b, a)
					}
				}
			}
		}
	})
}

// dependsOnOrder says that a loss names the first rows of a class.
func dependsOnOrder(l Loss) bool {
	switch l := inner(l).(type) {
	case *NPairs:
		return l.Classic
	case *PairwiseCrossEntropy:
		return true
	}
	return false
}

// selects says that a loss picks its terms by comparing values, so that it
// jumps where two are equal.
func selects(l Loss) bool {
	switch l := inner(l).(type) {
	case *Triplet:
		return l.Window != nil || l.Miner != nil
	case *MultiSimilarity:
		return l.Miner != nil
	}
	return false
}

// draws says that a loss draws its terms, from random numbers that another
// batch does not share.
func draws(l Loss) bool {
	t, ok := l.(*Triplet)
	if !ok {
		return false
	}
	switch t.Miner.(type) {
	case Uniform, DistanceWeighted, AtMost:
		return true
	}
	return false
}

func inner(l Loss) Loss {
	if v, ok := l.(*viewed); ok {
		return v.loss
	}
	return l
}
