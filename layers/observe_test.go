package layers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// witness keeps what an observer is notified of.
type witness struct {
	t     *testing.T
	open  []*engine.Work
	outer []engine.Work // in the order in which they began
	inner []engine.Work
}

func (w *witness) Begin(work *engine.Work) {
	if len(w.open) == 0 {
		w.outer = append(w.outer, *work)
	} else {
		w.inner = append(w.inner, *work)
	}
	w.open = append(w.open, work)
}

func (w *witness) End() {
	if len(w.open) == 0 {
		w.t.Fatal("more ends than beginnings")
	}
	w.open = w.open[:len(w.open)-1]
}

func TestEveryOpIsObservedOnceInItsOrder(t *testing.T) {
	eng := newEngine(t)
	g, x, loss := network(eng, layers.NewParams(eng, 3), 8, true)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	fill(t, eng, g.Value(x), 1)
	w := &witness{t: t}
	g.Observe(w)
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	g.Observe(nil)
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	want := g.Work()
	if !slices.EqualFunc(w.outer, want, func(a, b engine.Work) bool { return a.Name == b.Name && a.Kind == b.Kind }) {
		t.Errorf("observed %v\nwant %v", w.outer, want)
	}
	if len(w.open) > 0 {
		t.Errorf("%d never ended", len(w.open))
	}
	var inner []string
	for _, work := range w.inner {
		inner = append(inner, work.Kind)
	}
	if !slices.Equal(inner, []string{"download", "loss", "upload"}) {
		t.Errorf("inside of the loss there was %v", inner)
	}
	// Forward, then the loss, then backward: the first op and its gradient are each
	// there once.
	phases := map[string][]engine.Phase{}
	for _, work := range want {
		phases[work.Kind] = append(phases[work.Kind], work.Phase)
		if work.Kind == "" {
			t.Errorf("%s has no kind", work.Name)
		}
	}
	for kind, want := range map[string][]engine.Phase{
		"conv":              {engine.PhaseForward, engine.PhaseForward},
		"conv grad weights": {engine.PhaseBackward, engine.PhaseBackward},
		"conv grad input":   {engine.PhaseBackward}, // nothing needs that of the images
		"host loss":         {engine.PhaseLoss},
		"pairwise":          {engine.PhaseForward},
		"pairwise grad":     {engine.PhaseBackward},
		"concat":            {engine.PhaseForward},
		"slice":             {engine.PhaseBackward, engine.PhaseBackward},
		"add":               {engine.PhaseForward, engine.PhaseBackward, engine.PhaseBackward},
	} {
		if !slices.Equal(phases[kind], want) {
			t.Errorf("%s: got %v, want %v", kind, phases[kind], want)
		}
	}
}

// work finds the one op of a name.
func work(t *testing.T, g *layers.Graph, name string) engine.Work {
	t.Helper()
	for _, w := range g.Work() {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no op is called %q", name)
	return engine.Work{}
}

// A convolution of (2, 3, 5, 5) by 4 filters of 3x3 without padding gives (2, 4, 3, 3):
// each of the 72 numbers is 27 products and 27 sums.
func TestOperationsAndBytesByHand(t *testing.T) {
	eng := newEngine(t)
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x := g.Input("x", 2, 3, 5, 5)
	g.NeedGrad(x)
	y := g.ConvModule("conv", x, 4, engine.SquareConv(3, 1, 0), true)
	fused := g.ConvNormModule(layers.ConvNorm{Name: "fused", NormName: "bn", ReLUName: "relu", Out: 4, Spec: engine.SquareConv(3, 1, 0), Eps: 1, FrozenStats: true}, x, nil)
	h := g.GlobalAvg("pool", g.Concat("join", y, fused)) // (2, 8)
	qkv := g.Input("qkv", 2, 7, 24)
	g.NeedGrad(qkv)
	token := g.Token("token", g.Attention("attention", qkv, 2), 0) // (2, 8)
	e := g.LinearModule("embedding", g.Add(h, token), 6)           // (2, 6)
	g.Backward(g.HostLoss("loss", func(v, grads [][]float64) (float64, error) { return 0, nil }, e), nil)
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	const conv, attention, linear = 2 * 72 * 27, 2 * 2 * 2 * 7 * 7 * 8, 2 * 2 * 6 * 8
	for _, c := range []struct {
		name, kind   string
		flops, bytes float64
	}{
		{"conv", "conv", conv, 4 * (150 + 108 + 4 + 72)},
		{"conv grad weights", "conv grad weights", conv, 4 * (72 + 150 + 108 + 4)},
		{"conv grad input", "conv grad input", conv, 4 * (72 + 108 + 150)},
		{"fused", "conv+norm+relu", conv, 4 * (150 + 108 + 4*4 + 72)},
		{"fused grad weights", "conv grad weights", conv, 4 * (72 + 150 + 108 + 4)},
		{"attention", "attention", attention, 4 * (336 + 112 + 28)},
		{"attention grad", "attention grad", 2 * attention, 4 * (112 + 112 + 28 + 336 + 336)},
		{"embedding", "linear", linear, 4 * (16 + 48 + 6 + 12)},
		{"embedding grad", "linear grad", 2 * linear, 4 * (12 + 16 + 48 + 16 + 48 + 6)},
		{"join grad 0", "slice", 0, 4 * (72 + 72)},
		{"join grad 1", "slice relu grad", 0, 4 * (72 + 72 + 72)},
		{"token", "token", 0, 4 * (16 + 16)},
	} {
		if w := work(t, g, c.name); w.Kind != c.kind || w.FLOPs != c.flops || w.Bytes != c.bytes {
			t.Errorf("%s: got %s of %v operations, %v bytes, want %s, %v, %v", c.name, w.Kind, w.FLOPs, w.Bytes, c.kind, c.flops, c.bytes)
		}
	}
}

func TestAnObserverSeesTheEndOfWorkThatFails(t *testing.T) {
	eng := newEngine(t)
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x := g.Input("x", 1)
	bad := errors.New("no loss")
	g.HostLoss("loss", func(v, grads [][]float64) (float64, error) { return 0, bad }, x)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	w := &witness{t: t}
	g.Observe(w)
	if err := g.Run(); !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
	if len(w.open) > 0 || len(w.outer) != 1 {
		t.Errorf("%d never ended of %v", len(w.open), w.outer)
	}
}
