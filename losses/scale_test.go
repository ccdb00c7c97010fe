package losses_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// scaledGraph is a loss on rows of one length times a learned scale.
func scaledGraph(t *testing.T, name string, m metric.Metric, logs []float32, memory int) (*opGraph, *layers.Param) {
	t.Helper()
	l, err := losses.New(name, losses.Options{Metric: m, Scale: 1, Classes: opClasses, Dim: opDim})
	if err != nil {
		t.Fatal(err)
	}
	ps := layers.NewParams(newEngine(t), 3)
	g := layers.NewGraph(ps.Engine(), ps)
	r := &opGraph{g: g, ps: ps, in: g.Input("embeddings", opRows, opDim)}
	c := g.Param("log", layers.Scale, layers.Values(logs), len(logs))
	rows := func(x *layers.Node) *layers.Node {
		unit := g.RowNorm("rows", x, engine.RowNormSpec{Scale: float32(math.Sqrt(opDim)), Eps: 1e-12})
		return g.ExpScale("scaled", unit, c)
	}
	e := rows(r.in)
	g.Keep(e)
	r.node, err = losses.Op(g, l, e, losses.OpOptions{
		Metric: m, Classes: opClasses, Seed: 1, Normalize: rows, LogScale: c, Memory: losses.MemoryOptions{Size: memory},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Backward(r.node.Loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return r, ps.Get("log")
}

// loss is that of a batch.
func (r *opGraph) loss(t *testing.T, x []float32, labels []int) float64 {
	t.Helper()
	eng := r.g.Engine()
	for _, err := range []error{eng.Write(r.g.Value(r.in), x), r.node.SetLabels(labels), r.node.SetItems([]int{0, 1, 2, 3, 4, 5, 6, 7}), r.g.Run()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := r.g.Scalar(r.node.Loss)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLearnedScaleGradients compares the gradient of the logarithms of the scale, through
// embeddings, class rows and margins, with central differences of the loss.
func TestLearnedScaleGradients(t *testing.T) {
	labels := []int{0, 0, 1, 1, 2, 2, 3, 3}
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, opRows*opDim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	each := make([]float32, opDim)
	for k := range each {
		each[k] = float32(.4 * r.NormFloat64())
	}
	for _, c := range []struct {
		loss, metric string
		logs         []float32
		memory       int
	}{
		{"npairs", "brm", []float32{-.5}, 0},
		{"proxy-anchor", "brm", []float32{.3}, 0},
		{"proxy-anchor", "brm:tanh,p=1", each, 0},
		{"multi-similarity", "brm:isru,omega=0.5", []float32{0}, 0},
		{"contrastive", "brm", []float32{.2}, 0},
		{"contrastive", "brm", []float32{.2}, 16},
		{"triplet", "brm:softsign", each, 0},
		{"normalized-softmax", "brm:arctan,power", each, 0},
		{"soft-triple", "brm", []float32{-1}, 0},
	} {
		m, err := metric.Parse(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		g, p := scaledGraph(t, c.loss, m, c.logs, c.memory)
		eng := g.g.Engine()
		if c.memory > 0 { // some rows in it
			g.loss(t, x, labels)
			if err := g.node.Remember(); err != nil {
				t.Fatal(err)
			}
			for i := range x {
				x[i] += float32(.3 * math.Sin(float64(i)))
			}
		}
		g.loss(t, x, labels)
		got := read(t, eng, g.g.ParamGrad(p))
		moved := read(t, eng, p.Value)
		for k, at := range moved {
			const step = 1e-2
			at := at
			value := func(d float32) float64 {
				moved[k] = at + d
				if err := eng.Write(p.Value, moved); err != nil {
					t.Fatal(err)
				}
				return g.loss(t, x, labels)
			}
			want := (value(step) - value(-step)) / (2 * step)
			value(0)
			if d := math.Abs(float64(got[k]) - want); d > 5e-3*max(math.Abs(want), .1) {
				t.Errorf("%s on %s, memory %d, coordinate %d: gradient %.6f, differences say %.6f", c.loss, c.metric, c.memory, k, got[k], want)
			}
		}
	}
}

// TestALossFollowsTheScale: without saturation, at small scales, a loss does not depend
// on the scale, margins in the metric's own values included.
func TestALossFollowsTheScale(t *testing.T) {
	labels := []int{0, 0, 1, 1, 2, 2, 3, 3}
	r := rand.New(rand.NewPCG(5, 2))
	x := make([]float32, opRows*opDim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	m := metric.Metric{Kind: metric.BRM, P: 2}
	for _, name := range []string{"triplet", "contrastive", "npairs", "proxy-anchor"} {
		a, _ := scaledGraph(t, name, m, []float32{-6}, 0)
		b, p := scaledGraph(t, name, m, []float32{-5}, 0)
		la, lb := a.loss(t, x, labels), b.loss(t, x, labels)
		if math.Abs(la-lb) > 1e-3*la || la == 0 {
			t.Errorf("%s: %v at one scale, %v at another", name, la, lb)
		}
		if d := read(t, b.g.Engine(), b.g.ParamGrad(p))[0]; math.Abs(float64(d)) > 1e-3*lb {
			t.Errorf("%s: a gradient of %v where nothing is bent", name, d)
		}
	}
}
