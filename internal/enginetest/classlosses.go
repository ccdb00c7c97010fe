package enginetest

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// ClassLossOptions say how strict ClassLosses is.
type ClassLossOptions struct {
	// Rel is the error allowed in a loss, relative to 1 and its size, and in gradients,
	// relative to the largest element.
	Rel float64
	// Golden holds the golden numbers of package losses; nil leaves them out.
	Golden fs.FS
	// Quick leaves out the metrics that are used less.
	Quick bool
}

// ClassLosses tests an engine that is an engine.ClassLosses: its losses against those of
// the host in graphs, matrix by matrix at the edges of the definition and against golden
// numbers, and derivatives against finite differences.
func ClassLosses(t *testing.T, eng engine.Engine, o ClassLossOptions) {
	if _, ok := eng.(engine.ClassLosses); !ok {
		t.Fatalf("%s evaluates no losses over class rows", eng.Name())
	}
	t.Run("host", func(t *testing.T) { classLossesAgree(t, eng, o) })
	t.Run("matrices", func(t *testing.T) { classMatrices(t, eng, o.Rel) })
	t.Run("bad numbers", func(t *testing.T) { classBadNumbers(t, eng) })
	t.Run("differences", func(t *testing.T) { classDifferences(t, eng) })
	if o.Golden != nil {
		t.Run("authors", func(t *testing.T) { classGolden(t, eng, o) })
	}
}

// classProblem is a loss between embeddings and one row a class.
type classProblem struct {
	metric             metric.Metric
	loss               func() losses.Loss
	rows, classes, dim int
	x, p               []float32 // (rows, dim), (classes, dim)
	labels             []int
	unit               bool // both are brought to unit length first
	weight             float64
	host               int // OpOptions.HostClasses; 0 for what it is by default
}

// classAnswer is what a step gives.
type classAnswer struct {
	value  float64
	dx, dp []float32
	result losses.Result
}

// graph builds the problem in a graph.
func (c classProblem) graph(t *testing.T, eng engine.Engine) (g *layers.Graph, in *layers.Node, n *losses.Node, rows *layers.Param) {
	t.Helper()
	ps := layers.NewParams(eng, 1)
	g = layers.NewGraph(eng, ps)
	in = g.Input("embeddings", c.rows, c.dim)
	g.NeedGrad(in)
	norm := func(name string, n *layers.Node) *layers.Node {
		if !c.unit {
			return n
		}
		return g.RowNorm(name, n, engine.RowNormSpec{Scale: 1, Eps: 1e-12})
	}
	o := losses.OpOptions{Metric: c.metric, Classes: c.classes, Seed: 1, HostClasses: c.host,
		Normalize: func(rows *layers.Node) *layers.Node { return norm("unit class rows", rows) }}
	l, name := c.loss(), losses.ClassRowsParam
	if c.weight != 0 { // a term beside a loss without meaning
		o.Terms = []losses.Term{{Name: "extra", Weight: c.weight, Loss: l}}
		l, name = &losses.Contrastive{U: -1e9, V: 1e9}, losses.TermRowsParam("extra")
		if !c.metric.Similarity() {
			l = &losses.Contrastive{U: 1e9, V: -1e9}
		}
	}
	n, err := losses.Op(g, l, norm("unit rows", in), o)
	if err != nil {
		t.Fatal(err)
	}
	g.Backward(n.Loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	return g, in, n, ps.Get(name)
}

// on solves a problem in a graph, several times so that the last run is a replay on
// an engine that records.
func (c classProblem) on(t *testing.T, eng engine.Engine, byEngine bool) (a classAnswer) {
	t.Helper()
	g, in, n, rows := c.graph(t, eng)
	defer g.Close()
	if c.weight == 0 && n.OnEngine() != byEngine {
		t.Fatalf("the engine evaluates the loss is %v, want %v", n.OnEngine(), byEngine)
	}
	if err := eng.Write(rows.Value, c.p); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, err := range []error{eng.Write(g.Value(in), c.x), n.SetLabels(c.labels), g.Run()} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if a.value, err = g.Scalar(n.Loss); err != nil {
		t.Fatal(err)
	}
	a.dx, a.dp, a.result = readAll(t, eng, g.Value(g.GradOf(in))), readAll(t, eng, g.ParamGrad(rows)), n.Result
	return a
}

func readAll(t *testing.T, eng engine.Engine, v engine.Tensor) []float32 {
	t.Helper()
	host := make([]float32, v.Size())
	if err := eng.Read(host, v); err != nil {
		t.Fatal(err)
	}
	return host
}

func newClassProblem(t *testing.T, rng *rand.Rand, name string, params map[string]string, m metric.Metric, rows, classes, dim int) classProblem {
	t.Helper()
	c := classProblem{metric: m, rows: rows, classes: classes, dim: dim, unit: true, host: 1, x: normal(rng, rows*dim).v, p: normal(rng, classes*dim).v, labels: make([]int, rows)}
	for i := range c.labels {
		c.labels[i] = rng.IntN(classes)
		// Rows are nearer to their own class than to others, as they become.
		for k := range dim {
			c.x[i*dim+k] += c.p[c.labels[i]*dim+k]
		}
	}
	c.loss = func() losses.Loss {
		l, err := losses.New(name, losses.Options{Metric: m, Classes: classes, Dim: dim, Params: params})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	return c
}

// within compares within a share of the largest number wanted.
func within(t *testing.T, what string, got, want []float32, rel float64) {
	t.Helper()
	size := 0.
	for _, w := range want {
		size = max(size, math.Abs(float64(w)))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i] - w)); !(d <= rel*size+1e-9) {
			t.Errorf("%s: [%d] is %v, want %v (largest %v)", what, i, got[i], w, size)
			return
		}
	}
}

// agree compares an engine's evaluation with the host's.
func (c classProblem) agree(t *testing.T, eng engine.Engine, rel float64) {
	t.Helper()
	want, got := c.on(t, reference.New(), false), c.on(t, eng, true)
	if !(math.Abs(got.value-want.value) <= rel*(1+math.Abs(want.value))) {
		t.Errorf("loss %v, want %v", got.value, want.value)
	}
	within(t, "gradient of the embeddings", got.dx, want.dx, rel)
	within(t, "gradient of the class rows", got.dp, want.dp, rel)
	if got.result.Active != want.result.Active || got.result.Total != want.result.Total {
		t.Errorf("%d of %d terms, want %d of %d", got.result.Active, got.result.Total, want.result.Active, want.result.Total)
	}
}

// classLossesAgree compares every loss that an engine evaluates, on the usual
// metrics and in random shapes, with the host.
func classLossesAgree(t *testing.T, eng engine.Engine, o ClassLossOptions) {
	rng := rand.New(rand.NewPCG(8, 1))
	metrics := []metric.Metric{{Kind: metric.BRM, P: 2}, {Kind: metric.Cosine}, {Kind: metric.Euclidean}}
	if !o.Quick {
		metrics = append(metrics, metric.Metric{Kind: metric.BRM, P: 1, Restriction: metric.SoftSign}, metric.Metric{Kind: metric.BRM, P: 2, Power: true, Restriction: metric.ArcTan},
			metric.Metric{Kind: metric.Dot}, metric.Metric{Kind: metric.SquaredEuclidean})
	}
	for _, m := range metrics {
		for _, l := range []struct {
			name   string
			params map[string]string
		}{
			{"proxy-anchor", nil}, {"normalized-softmax", nil}, {"softmax", nil}, {"cosface", nil}, {"arcface", nil},
			{"proxy-nca", nil}, {"proxy-nca", map[string]string{"smoothing": "0.1"}}, {"proxy-nca", map[string]string{"denominator": "others"}},
		} {
			t.Run(fmt.Sprintf("%v/%s%v", m, l.name, l.params), func(t *testing.T) {
				c := newClassProblem(t, rng, l.name, l.params, m, 1+rng.IntN(20), 2+rng.IntN(90), 2+rng.IntN(20))
				c.agree(t, eng, o.Rel)
			})
		}
	}
	t.Run("more classes than the host takes", func(t *testing.T) {
		c := newClassProblem(t, rng, "proxy-anchor", nil, metric.Metric{Kind: metric.BRM, P: 2}, 5, 1001, 4)
		c.host = 0
		c.agree(t, eng, o.Rel)
	})
	t.Run("one class in the batch", func(t *testing.T) {
		c := newClassProblem(t, rng, "proxy-anchor", nil, metric.Metric{Kind: metric.Cosine}, 6, 40, 8)
		for i := range c.labels {
			c.labels[i] = 7
		}
		c.agree(t, eng, o.Rel)
	})
	t.Run("a term with a weight", func(t *testing.T) {
		c := newClassProblem(t, rng, "cosface", nil, metric.Metric{Kind: metric.Cosine}, 9, 30, 8)
		c.weight = .25
		c.agree(t, eng, o.Rel)
	})
	// A label that is none of the classes is an error before anything runs.
	t.Run("labels beyond the classes", func(t *testing.T) {
		c := newClassProblem(t, rng, "cosface", nil, metric.Metric{Kind: metric.Cosine}, 2, 3, 4)
		g, _, n, _ := c.graph(t, eng)
		defer g.Close()
		for _, labels := range [][]int{{0, 3}, {-1, 0}} {
			if err := n.SetLabels(labels); err == nil || !strings.Contains(err.Error(), "the 3 classes 0..2") {
				t.Errorf("labels %v: %v", labels, err)
			}
		}
	})
}
