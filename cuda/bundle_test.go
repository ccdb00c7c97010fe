//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// bundled is a network with all that bundles hold: fused convolutions with and without
// biases, trained normalizations, weights that two layers share, token layers.
func bundled(t *testing.T, eng engine.Engine) (*layers.Graph, *layers.Params) {
	t.Helper()
	ps := layers.NewParams(eng, 3)
	g := layers.NewGraph(eng, ps)
	rng := rand.New(rand.NewPCG(1, 2))
	images := g.Input("images", 4, 3, 8, 8)
	c := func(name string, x, residual *layers.Node, bias bool) *layers.Node {
		return g.ConvNormModule(layers.ConvNorm{
			Name: "conv" + name, NormName: "norm" + name, ReLUName: "relu" + name, Out: 6, Spec: engine.SquareConv(3, 1, 1), Bias: bias, Eps: 1e-5, FrozenStats: true,
		}, x, residual)
	}
	x := c("1", images, nil, true)
	x = c("2", x, x, false)
	x = c("2", x, nil, false) // the same weights again
	x = g.BatchNormModule("moving", g.ConvModule("plain", x, 8, engine.SquareConv(1, 1, 0), true), 1e-5, .1, false)
	y := g.TokensModule("tokens", x, layers.Tokenizer{Class: "class", Position: "position"})
	y = g.TransformerBlockModule("block", y, layers.TransformerBlock{Heads: 2, Hidden: 12, Eps: 1e-6})
	e := g.LinearModule("embedding", g.Token("first", y, 0), 5)
	d := g.Pairwise("distances", e, e, metric.Metric{Kind: metric.Dot})
	loss := g.HostLoss("loss", func(values, grads [][]float64) (float64, error) {
		sum := 0.
		for i, v := range values[0] {
			sum += v * v
			grads[0][i] = 2 * v
		}
		return sum, nil
	}, d)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range ps.All() { // no gamma of 1, no beta of 0
		host := make([]float32, p.Value.Size())
		for i := range host {
			host[i] = float32(.5 + rng.Float64())
			if p.Role == layers.Weight {
				host[i] = float32(.3 * rng.NormFloat64())
			}
		}
		if err := eng.Write(p.Value, host); err != nil {
			t.Fatal(err)
		}
	}
	host := make([]float32, images.Shape().TotalSize())
	for i := range host {
		host[i] = float32(rng.NormFloat64())
	}
	if err := eng.Write(g.Value(images), host); err != nil {
		t.Fatal(err)
	}
	return g, ps
}

func gradsOf(t *testing.T, g *layers.Graph, ps *layers.Params) map[string][]float32 {
	t.Helper()
	list := map[string][]float32{}
	for _, p := range ps.All() {
		d := g.ParamGrad(p)
		if d == nil {
			continue
		}
		list[p.Name] = make([]float32, d.Size())
		if err := g.Engine().Read(list[p.Name], d); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// RunChecked asks for every op by itself: the bits are the same.
func TestBundlesLeaveTheBitsOfSingleOperations(t *testing.T) {
	for _, p := range []Precision{FP32, BF16} {
		t.Run(p.String(), func(t *testing.T) {
			eng, dev, _ := newFake(t, Options{Precision: p})
			g, ps := bundled(t, eng)
			count := func(run func() error) (map[string][]float32, int) {
				t.Helper()
				before := dev.Calls["Launch"]
				if err := run(); err != nil {
					t.Fatal(err)
				}
				return gradsOf(t, g, ps), dev.Calls["Launch"] - before
			}
			want, single := count(g.RunChecked)
			for i := range 4 { // of which the last two are replayed
				got, together := count(g.Run)
				for name, w := range want {
					if !slices.Equal(got[name], w) {
						t.Errorf("run %d: the gradient of %s differs", i, name)
					}
				}
				if together > single-30 {
					t.Errorf("run %d: %d launches, %d one by one", i, together, single)
				}
			}
			if stretches, refusal := g.Recorded(); stretches != 2 || refusal != nil {
				t.Errorf("%d recordings, refusal %v", stretches, refusal)
			}
			if again, _ := count(g.RunChecked); !slices.Equal(again["conv2.weight"], want["conv2.weight"]) {
				t.Error("after bundles, single operations differ from those before")
			}
		})
	}
}

func TestABundleRefusesWhatItDoesNotHold(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	x, err := eng.New(4)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    func() error
		want string
	}{
		"another operation": {func() error { return eng.Add(x, x, x) }, "is no operation of a bundle"},
		"a bundle":          {func() error { _, err := eng.Bundle(func() error { return nil }); return err }, "inside another one"},
		"a failure":         {func() error { return fmt.Errorf("what went wrong") }, "what went wrong"},
	} {
		if b, err := eng.Bundle(c.f); b != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := eng.Add(x, x, x); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	b, err := eng.Bundle(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.Run(), b.Close()} {
		if err != nil {
			t.Errorf("a bundle of nothing: %v", err)
		}
	}
}

// A bundle holds memory until it is closed, and is done as often as it is run.
func TestABundleHoldsItsTable(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	var x [2]engine.Tensor
	for i := range x {
		var err error
		if x[i], err = eng.New(3); err != nil {
			t.Fatal(err)
		}
	}
	before := eng.memory.used
	b, err := eng.Bundle(func() error { return eng.Copy(x[1], x[0]) })
	if err != nil {
		t.Fatal(err)
	}
	if eng.memory.used == before {
		t.Error("a bundle holds no memory")
	}
	for i := range 3 {
		want, got := []float32{float32(i), 2, 3}, make([]float32, 3)
		for _, err := range []error{eng.Write(x[0], want), b.Run(), eng.Read(got, x[1])} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("run %d: %v, want %v", i, got, want)
		}
	}
	if err := b.Close(); err != nil || eng.memory.used != before {
		t.Errorf("after closing, %d bytes are held, before %d (%v)", eng.memory.used, before, err)
	}
}
