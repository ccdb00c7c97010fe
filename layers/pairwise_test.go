package layers_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Values within groups, and what flows back from them, are those of the square matrix
// of all rows where both are of one group.
func TestPairwiseGroupsAreBlocksOfTheSquareMatrix(t *testing.T) {
	const n, k, h = 12, 3, 5
	eng := newEngine(t)
	rng := rand.New(rand.NewPCG(4, 4))
	for _, m := range []metric.Metric{{Kind: metric.Cosine}, {Kind: metric.BRM, P: 2}, {Kind: metric.SignalToNoise}} {
		run := func(columns int, op func(g *layers.Graph, x *layers.Node) *layers.Node, x, dd []float32) (d, dx []float32) {
			g := layers.NewGraph(eng, layers.NewParams(eng, 1))
			defer g.Close()
			in, seed := g.Input("x", n, h), g.Input("seed", n, columns)
			g.NeedGrad(in)
			out := op(g, in)
			g.Keep(out)
			g.Backward(out, seed)
			for _, err := range []error{g.Compile(), eng.Write(g.Value(in), x), eng.Write(g.Value(seed), dd), g.Run()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return read(t, eng, g.Value(out)), read(t, eng, g.Value(g.GradOf(in)))
		}
		x, dd, square := make([]float32, n*h), make([]float32, n*k), make([]float32, n*n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		for i := range dd {
			dd[i] = float32(rng.NormFloat64())
			square[i/k*n+i/k/k*k+i%k] = dd[i]
		}
		d, dx := run(k, func(g *layers.Graph, x *layers.Node) *layers.Node { return g.PairwiseGroups("d", x, k, m) }, x, dd)
		all, want := run(n, func(g *layers.Graph, x *layers.Node) *layers.Node { return g.Pairwise("d", x, x, m) }, x, square)
		for i, v := range d {
			if w := all[i/k*n+i/k/k*k+i%k]; math.Abs(float64(v-w)) > 1e-5 {
				t.Errorf("%v: value %d is %v, in the square matrix %v", m, i, v, w)
			}
		}
		for i, v := range dx {
			if math.Abs(float64(v-want[i])) > 2e-5*(1+math.Abs(float64(want[i]))) {
				t.Errorf("%v: gradient %d is %v, by the square matrix %v", m, i, v, want[i])
			}
		}
	}
}

func TestPairwiseGroupsOfUnequalSizeAreRefused(t *testing.T) {
	eng := newEngine(t)
	for _, k := range []int{0, 5} {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		g.PairwiseGroups("d", g.Input("x", 12, 3), k, metric.Metric{Kind: metric.Cosine})
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "d: rows of (12, 3) do not lie in groups of") {
			t.Errorf("groups of %d: %v", k, err)
		}
	}
}
