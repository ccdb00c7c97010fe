package layers_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

func newEngine(t testing.TB) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// network is a small net with every kind of fan-out: a residual, two
// branches that join, batch statistics and a loss on the distance matrix.
func network(eng engine.Engine, ps *layers.Params, batch int, training bool) (g *layers.Graph, x, loss *layers.Node) {
	g = layers.NewGraph(eng, ps)
	x = g.Input("images", batch, 3, 8, 8)
	h := g.ConvModule("conv1", x, 6, engine.SquareConv(3, 1, 1), true)
	h = g.ReLU("relu1", g.BatchNormModule("bn1", h, 1e-5, .1, !training))
	h = g.Add(h, g.ConvModule("conv2", h, 6, engine.SquareConv(3, 1, 1), false))
	a := g.MaxPool("max", h, engine.SquarePool(2, 2, 0, false))
	b := g.AvgPool("avg", h, engine.SquarePool(2, 2, 0, false))
	h = g.GlobalAvg("pool", g.Concat("join", a, b))
	h = g.RowNorm("norm", g.LinearModule("embedding", h, 5), engine.RowNormSpec{Scale: 2, Eps: 1e-12})
	d := g.Pairwise("distance", h, h, metric.Metric{Kind: metric.BRM, P: 2})
	loss = g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
		sum := 0.
		for i := range v[0] {
			w := math.Sin(float64(i)) // any fixed weights
			sum += w * v[0][i]
			grads[0][i] = w
		}
		return sum, nil
	}, d)
	return g, x, loss
}

func fill(t testing.TB, eng engine.Engine, v engine.Tensor, seed uint64) []float32 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	host := make([]float32, v.Size())
	for i := range host {
		host[i] = float32(r.NormFloat64())
	}
	if err := eng.Write(v, host); err != nil {
		t.Fatal(err)
	}
	return host
}

func TestGradientOfAWholeNetworkMatchesFiniteDifferences(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	g, x, loss := network(eng, ps, 4, true)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fill(t, eng, g.Value(x), 7)
	wantGradients(t, g, ps, loss, "conv1.bias") // batch normalization removes it
}

// wantGradients compares the gradient of every parameter with difference quotients of the
// loss, along the gradient and along a random direction. That of flat is 0.
func wantGradients(t *testing.T, g *layers.Graph, ps *layers.Params, loss *layers.Node, flat string) {
	t.Helper()
	eng := g.Engine()
	value := func() float64 {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		v, err := g.Scalar(loss)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, p := range ps.All() {
		if !p.Trainable() {
			continue
		}
		value()
		grad := read(t, eng, g.ParamGrad(p))
		w := read(t, eng, p.Value)
		for k, dir := range [][]float32{grad, fill(t, eng, mustNew(t, eng, p.Value.Shape()), 11)} {
			norm, dot := 0., 0.
			for i := range dir {
				norm += float64(dir[i]) * float64(dir[i])
				dot += float64(dir[i]) * float64(grad[i])
			}
			norm = math.Sqrt(norm)
			const h = 2e-3
			at := func(s float64) float64 {
				moved := make([]float32, len(w))
				for i := range w {
					moved[i] = w[i] + float32(s*float64(dir[i])/norm)
				}
				if err := eng.Write(p.Value, moved); err != nil {
					t.Fatal(err)
				}
				return value()
			}
			got := (at(h) - at(-h)) / (2 * h)
			if err := eng.Write(p.Value, w); err != nil {
				t.Fatal(err)
			}
			want := dot / norm
			if p.Name == flat {
				want = 0
			}
			if norm > 1e-4 && math.Abs(got-want) > 2e-2*math.Abs(want)+2e-3 {
				t.Errorf("%s, direction %d: difference quotient %.5f, gradient %.5f", p.Name, k, got, want)
			}
		}
	}
}

func mustNew(t testing.TB, eng engine.Engine, shape []int) engine.Tensor {
	t.Helper()
	v, err := eng.New(shape...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestASeedOfTwoDoublesEveryGradient(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	one, x1, loss1 := network(eng, ps, 4, false)
	one.Backward(loss1, nil)
	two, x2, loss2 := network(eng, ps, 4, false)
	seed := two.Input("seed", 1)
	two.Backward(loss2, seed)
	for _, g := range []*layers.Graph{one, two} {
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
	}
	if err := eng.Write(two.Value(seed), []float32{2}); err != nil {
		t.Fatal(err)
	}
	fill(t, eng, one.Value(x1), 5)
	fill(t, eng, two.Value(x2), 5)
	for _, g := range []*layers.Graph{one, two} {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range ps.All() {
		if !p.Trainable() {
			continue
		}
		a, b := read(t, eng, one.ParamGrad(p)), read(t, eng, two.ParamGrad(p))
		for i := range a {
			if math.Abs(float64(b[i]-2*a[i])) > 1e-5*(1+math.Abs(float64(b[i]))) {
				t.Fatalf("%s[%d]: %v with seed 1, %v with seed 2", p.Name, i, a[i], b[i])
			}
		}
	}
}

func TestAFrozenParameterGetsNoGradientNode(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	build, _, _ := network(eng, ps, 2, false)
	if err := build.Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range ps.All() {
		p.Frozen = strings.HasPrefix(p.Name, "conv1") || strings.HasPrefix(p.Name, "bn1")
	}
	g, _, loss := network(eng, ps, 2, false)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, p := range ps.All() {
		if got := g.ParamGrad(p) != nil; got != p.Trainable() {
			t.Errorf("%s: gradient computed: %v, trainable: %v", p.Name, got, p.Trainable())
		}
	}
}

func TestTheFirstNonFiniteNodeIsNamed(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 3)
	g, x, loss := network(eng, ps, 2, false)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fill(t, eng, g.Value(x), 1)
	if err := g.RunChecked(); err != nil {
		t.Fatalf("a healthy step: %v", err)
	}
	p := ps.Get("conv2.weight")
	w := read(t, eng, p.Value)
	keep := w[3]
	w[3] = float32(math.NaN())
	if err := eng.Write(p.Value, w); err != nil {
		t.Fatal(err)
	}
	var nf *layers.NonFiniteError
	if err := g.RunChecked(); !errors.As(err, &nf) || !strings.Contains(nf.Node, "conv2.weight") {
		t.Errorf("a NaN weight: got %v", err)
	}
	// Large but finite: the product overflows in the convolution itself.
	w[3] = keep
	for i := range w {
		w[i] = math.MaxFloat32
	}
	if err := eng.Write(p.Value, w); err != nil {
		t.Fatal(err)
	}
	if err := g.RunChecked(); !errors.As(err, &nf) || nf.Node != "conv2" {
		t.Errorf("an overflow in conv2: got %v", err)
	}
}

func TestBuildingMistakesNameTheNode(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		name  string
		build func(g *layers.Graph)
		want  []string
	}{
		{"kernel larger than the map", func(g *layers.Graph) {
			g.ConvModule("big", g.Input("x", 1, 3, 4, 4), 8, engine.SquareConv(7, 1, 0), false)
		}, []string{"big", "7x7", "4x4"}},
		{"branches of different size", func(g *layers.Graph) {
			g.Concat("join", g.Input("x", 1, 3, 4, 4), g.Input("y", 1, 3, 5, 4))
		}, []string{"join", "(1, 3, 5, 4)"}},
		{"a later mistake does not hide the first", func(g *layers.Graph) {
			x := g.MaxPool("pool", g.Input("x", 2, 3), engine.SquarePool(2, 2, 0, false))
			g.ReLU("relu", x)
		}, []string{"pool"}},
		{"batch statistics of one number", func(g *layers.Graph) {
			g.BatchNormModule("bn", g.Input("x", 1, 3), 1e-5, .1, false)
		}, []string{"bn", "more than one"}},
		{"one parameter of two groups", func(g *layers.Graph) {
			g.Param("w", layers.Weight, layers.Constant(0), 1)
			defer g.In(layers.Head)()
			g.Param("w", layers.Weight, layers.Constant(0), 1)
		}, []string{`"w" belongs to the backbone already and cannot be the head's, too`}},
		{"zero rows", func(g *layers.Graph) { g.Input("x", 0, 3) }, []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := layers.NewGraph(eng, layers.NewParams(eng, 1))
			c.build(g)
			err := g.Compile()
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

// What is left out is an error of Compile, and not a panic where it is first needed.
func TestAGraphWithoutItsPartsSaysWhichIsMissing(t *testing.T) {
	eng := newEngine(t)
	for want, g := range map[string]*layers.Graph{
		"the engine of NewGraph is nil":       layers.NewGraph(nil, layers.NewParams(eng, 1)),
		"the parameters of NewGraph are nil":  layers.NewGraph(eng, nil),
		"the engine of the parameters is nil": layers.NewGraph(eng, layers.NewParams(nil, 1)),
	} {
		g.LinearModule("head", g.Input("x", 1, 2), 3)
		if err := g.Compile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// panicking stands for a bug in an engine.
type panicking struct{ engine.Engine }

func (panicking) ReLU(y, x engine.Tensor) error { panic("a bug") }

func TestAPanicInAnOpBecomesAnErrorThatNamesTheNode(t *testing.T) {
	eng := panicking{newEngine(t)}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	g.ReLU("the culprit", g.Input("x", 2, 3))
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err := g.Run()
	var oe *layers.OpError
	if !errors.As(err, &oe) || oe.Node != "the culprit" || !strings.Contains(err.Error(), "a bug") {
		t.Errorf("got %v", err)
	}
}

func TestAStepAllocatesNoTensors(t *testing.T) {
	eng := newEngine(t)
	counting := &counting{Engine: eng}
	ps := layers.NewParams(counting, 3)
	g, x, loss := network(counting, ps, 8, true)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fill(t, eng, g.Value(x), 1)
	before := counting.made
	if before == 0 {
		t.Fatal("compiling made no tensor, so the test counts nothing")
	}
	for range 3 {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if counting.made != before {
		t.Errorf("three steps made %d tensors", counting.made-before)
	}
}

type counting struct {
	engine.Engine
	made int
}

func (c *counting) New(shape ...int) (engine.Tensor, error) {
	c.made++
	return c.Engine.New(shape...)
}

func BenchmarkStep(b *testing.B) {
	eng := newEngine(b)
	g, x, loss := network(eng, layers.NewParams(eng, 3), 32, true)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	fill(b, eng, g.Value(x), 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
