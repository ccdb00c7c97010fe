//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

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

// on solves a problem in a graph, several times so that the last run is a replay on
// an engine that records.
func (c classProblem) on(t *testing.T, eng engine.Engine, byEngine bool) (a classAnswer) {
	t.Helper()
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	in := g.Input("embeddings", c.rows, c.dim)
	g.NeedGrad(in)
	norm := func(name string, n *layers.Node) *layers.Node {
		if !c.unit {
			return n
		}
		return g.RowNorm(name, n, engine.RowNormSpec{Scale: 1, Eps: 1e-12})
	}
	o := losses.OpOptions{Metric: c.metric, Classes: c.classes, Seed: 1, HostClasses: c.host,
		Normalize: func(rows *layers.Node) *layers.Node { return norm("unit class rows", rows) }}
	l, rows := c.loss(), losses.ClassRowsParam
	if c.weight != 0 { // a term beside a loss without meaning
		o.Terms = []losses.Term{{Name: "extra", Weight: c.weight, Loss: l}}
		l, rows = &losses.Contrastive{U: -1e9, V: 1e9}, losses.TermRowsParam("extra")
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
	defer g.Close()
	if c.weight == 0 && n.OnEngine() != byEngine {
		t.Fatalf("the engine evaluates the loss is %v, want %v", n.OnEngine(), byEngine)
	}
	if err := eng.Write(ps.Get(rows).Value, c.p); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, err := range []error{eng.Write(g.Value(in), c.x), n.SetLabels(c.labels), g.Run()} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.value, err = g.Scalar(n.Loss); err != nil {
		t.Fatal(err)
	}
	read := func(v engine.Tensor) []float32 {
		host := make([]float32, v.Size())
		if err := eng.Read(host, v); err != nil {
			t.Fatal(err)
		}
		return host
	}
	a.dx, a.dp, a.result = read(g.Value(g.GradOf(in))), read(g.ParamGrad(ps.Get(rows))), n.Result
	return a
}

func draw(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func newClassProblem(t *testing.T, rng *rand.Rand, name string, params map[string]string, m metric.Metric, rows, classes, dim int) classProblem {
	t.Helper()
	c := classProblem{metric: m, rows: rows, classes: classes, dim: dim, unit: true, host: 1, x: draw(rng, rows*dim), p: draw(rng, classes*dim), labels: make([]int, rows)}
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

// near compares within a share of the largest number wanted.
func near(t *testing.T, what string, got, want []float32, rel float64) {
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
	near(t, "gradient of the embeddings", got.dx, want.dx, rel)
	near(t, "gradient of the class rows", got.dp, want.dp, rel)
	if got.result.Active != want.result.Active || got.result.Total != want.result.Total {
		t.Errorf("%d of %d terms, want %d of %d", got.result.Active, got.result.Total, want.result.Active, want.result.Total)
	}
}

// classLossesAgree compares every loss that an engine evaluates, on the usual
// metrics and in random shapes, with the host.
func classLossesAgree(t *testing.T, eng engine.Engine, rel float64) {
	rng := rand.New(rand.NewPCG(8, 1))
	metrics := []metric.Metric{{Kind: metric.BRM, P: 2}, {Kind: metric.Cosine}, {Kind: metric.Euclidean}}
	if every() == 1 {
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
				c.agree(t, eng, rel)
			})
		}
	}
	t.Run("more classes than the host takes", func(t *testing.T) {
		c := newClassProblem(t, rng, "proxy-anchor", nil, metric.Metric{Kind: metric.BRM, P: 2}, 5, 1001, 4)
		c.host = 0
		c.agree(t, eng, rel)
	})
	t.Run("one class in the batch", func(t *testing.T) {
		c := newClassProblem(t, rng, "proxy-anchor", nil, metric.Metric{Kind: metric.Cosine}, 6, 40, 8)
		for i := range c.labels {
			c.labels[i] = 7
		}
		c.agree(t, eng, rel)
	})
	t.Run("a term with a weight", func(t *testing.T) {
		c := newClassProblem(t, rng, "cosface", nil, metric.Metric{Kind: metric.Cosine}, 9, 30, 8)
		c.weight = .25
		c.agree(t, eng, rel)
	})
}

func TestClassLossesOnAFakeDeviceAgreeWithTheHost(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	classLossesAgree(t, eng, 1e-4)
}

// The numbers of the losses' authors, in float32.
func TestClassLossesOnAFakeDeviceAgreeWithTheirAuthors(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	squared, dot := metric.Metric{Kind: metric.SquaredEuclidean}, metric.Metric{Kind: metric.Dot}
	cases := 0
	golden.WalkFS(t, os.DirFS(filepath.Join("..", "losses", "testdata", "golden")), "losses", func(t *testing.T, c *golden.Case) {
		_, short, _ := strings.Cut(c.Name, "_")
		p, rows, transposed := classProblem{metric: dot, unit: true, host: 1}, "proxies", false
		switch {
		case strings.HasPrefix(short, "proxy_anchor"):
			delta := c.Params.Float("margin", 0)
			p.loss = func() losses.Loss {
				return &losses.ProxyAnchor{Alpha: c.Params.Float("alpha", 0), PosMargin: delta, NegMargin: -delta}
			}
		case strings.HasPrefix(short, "proxy_nca"):
			p.metric = squared
			p.loss = func() losses.Loss {
				return &losses.ProxyNCA{Scale: c.Params.Float("softmax_scale", 1) * c.Params.Float("scaling_x", 1) * c.Params.Float("scaling_p", 1), Smoothing: c.Params.Float("smoothing_const", 0)}
			}
		case strings.HasPrefix(short, "normalized_softmax"):
			rows, transposed = "W", true
			p.loss = func() losses.Loss { return &losses.NormalizedSoftmax{Temperature: c.Params.Float("temperature", 0)} }
		case strings.HasPrefix(short, "cosface"):
			rows, transposed = "W", true
			p.loss = func() losses.Loss {
				return &losses.CosFace{Scale: c.Params.Float("scale", 0), Margin: c.Params.Float("margin", 0)}
			}
		case strings.HasPrefix(short, "arcface"):
			rows, transposed = "W", true
			p.loss = func() losses.Loss {
				return &losses.ArcFace{Scale: c.Params.Float("scale", 0), MarginDegrees: c.Params.Float("margin_degrees", 0)}
			}
		default:
			t.Skip("a loss of the host")
		}
		cases++
		turn := func(g golden.Tensor) []float32 {
			if transposed {
				g = transposedTensor(g)
			}
			return narrowAll(g.Data)
		}
		x := c.Inputs["embeddings"]
		p.x, p.p, p.labels = narrowAll(x.Data), turn(c.Inputs[rows]), c.Inputs["labels"].Ints()
		p.rows, p.dim = x.Shape[0], x.Shape[1]
		p.classes = len(p.p) / p.dim
		a := p.on(t, eng, true)
		near(t, "value", []float32{float32(a.value)}, narrowAll(c.Outputs["value"].Data), 1e-4)
		near(t, "gradient of the embeddings", a.dx, narrowAll(c.Outputs["grad_embeddings"].Data), 1e-4)
		near(t, "gradient of the class rows", a.dp, turn(c.Outputs["grad_"+rows]), 1e-4)
	})
	if cases < 20 {
		t.Errorf("%d cases of these losses", cases)
	}
}

func narrowAll(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func transposedTensor(g golden.Tensor) golden.Tensor {
	rows, cols := g.Shape[0], g.Shape[1]
	out := golden.Tensor{Shape: []int{cols, rows}, Data: make([]float64, len(g.Data))}
	for i := range rows {
		for j := range cols {
			out.Data[j*rows+i] = g.Data[i*cols+j]
		}
	}
	return out
}

// The derivative that an engine gives is that of the number that it gives.
func TestClassLossesOnAFakeDeviceAgreeWithTheirDifferences(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	rng := rand.New(rand.NewPCG(8, 2))
	const rows, classes = 3, 5
	tensor := func(shape ...int) engine.Tensor {
		x, err := eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d, labels, loss, dd := tensor(rows, classes), tensor(rows), tensor(1), tensor(rows, classes)
	if err := eng.Write(labels, []float32{4, 0, 4}); err != nil {
		t.Fatal(err)
	}
	view := engine.Quadratic{A: .9, B: -.3, C: -.4}
	for name, eval := range map[string]func(dd engine.Tensor) error{
		"proxy-anchor": func(dd engine.Tensor) error {
			return eng.ProxyAnchor(loss, dd, d, labels, engine.ProxyAnchorSpec{Similarity: view, Alpha: 3, PosMargin: .1, NegMargin: -.1})
		},
		"softmax with everything": func(dd engine.Tensor) error {
			return eng.ClassSoftmax(loss, dd, d, labels, engine.ClassSoftmaxSpec{Similarity: view, Scale: 4, Angle: .5, Margin: .2, Smoothing: .1})
		},
		"softmax over the others": func(dd engine.Tensor) error {
			return eng.ClassSoftmax(loss, dd, d, labels, engine.ClassSoftmaxSpec{Similarity: view, Scale: 4, OthersOnly: true})
		},
	} {
		x := make([]float32, rows*classes)
		for i := range x {
			x[i] = rng.Float32()
		}
		at := func(i int, by float32) float64 {
			moved := append([]float32(nil), x...)
			moved[i] += by
			var v [1]float32
			for _, err := range []error{eng.Write(d, moved), eval(nil), eng.Read(v[:], loss)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return float64(v[0])
		}
		grad := make([]float32, len(x))
		for _, err := range []error{eng.Write(d, x), eval(dd), eng.Read(grad, dd)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, g := range grad {
			const h = 1. / 128
			if diff := (at(i, h) - at(i, -h)) / (2 * h); math.Abs(diff-float64(g)) > 2e-3 {
				t.Errorf("%s: derivative %d is %v, differences give %v", name, i, g, diff)
			}
		}
	}
}

func TestClassLossesRefuseWhatDoesNotFit(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	tensor := func(shape ...int) engine.Tensor {
		x, err := eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d, one, two := tensor(2, 3), tensor(1), tensor(2)
	soft := func(spec engine.ClassSoftmaxSpec, loss, dd, d, labels engine.Tensor) error {
		return eng.ClassSoftmax(loss, dd, d, labels, spec)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{eng.ProxyAnchor(two, nil, d, two, engine.ProxyAnchorSpec{}), "loss [2], want shape [1]"},
		{eng.ProxyAnchor(one, tensor(3, 2), d, two, engine.ProxyAnchorSpec{}), "dd [3 2], want shape [2 3]"},
		{eng.ProxyAnchor(one, nil, d, one, engine.ProxyAnchorSpec{}), "labels [1], want shape [2]"},
		{eng.ProxyAnchor(one, d, d, two, engine.ProxyAnchorSpec{}), "share memory"},
		{eng.ProxyAnchor(one, nil, two, two, engine.ProxyAnchorSpec{}), "d [2], want shape [-1 -1]"},
		{soft(engine.ClassSoftmaxSpec{Angle: 4}, one, nil, d, two), "an angle of 4"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true, Smoothing: .1}, one, nil, d, two), "no smoothing"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true}, one, nil, tensor(2, 1), two), "2 classes or more"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

// A label that is none of the classes is an error before anything runs.
func TestLabelsBeyondTheClassesAreRefused(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	in := g.Input("embeddings", 2, 4)
	n, err := losses.Op(g, &losses.CosFace{Scale: 1}, in, losses.OpOptions{Metric: metric.Metric{Kind: metric.Cosine}, Classes: 3, HostClasses: 1})
	if err != nil || !n.OnEngine() {
		t.Fatalf("%v, on the engine is %v", err, n.OnEngine())
	}
	for _, labels := range [][]int{{0, 3}, {-1, 0}} {
		if err := n.SetLabels(labels); err == nil || !strings.Contains(err.Error(), "the 3 classes 0..2") {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}
