//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
)

// A head with layer normalization and dropout, whose masks are drawn between recordings,
// has the losses and gradients that it has on the host.
func TestAHeadWithDropoutIsThatOfTheHost(t *testing.T) {
	const rows, width = 8, 6
	build := func(eng engine.Engine) (g *layers.Graph, ps *layers.Params, x, loss *layers.Node) {
		ps = layers.NewParams(eng, 5)
		g = layers.NewGraph(eng, ps)
		x = g.Input("features", rows, width)
		y := g.LinearModule("fc", g.LayerNormModule("norm", x, 1e-5), 16)
		y = g.LinearModule("head", g.Dropout("drop", g.ReLU("relu", y), 0.4), 3)
		loss = g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
			sum := 0.
			for i, a := range v[0] {
				w := math.Sin(float64(i))
				sum += w * a
				grads[0][i] = w
			}
			return sum, nil
		}, y)
		g.Backward(loss, nil)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g, ps, x, loss
	}
	dev, _, _ := newFake(t, Options{})
	ref := reference.New()
	g, ps, x, loss := build(dev)
	wantG, wantPs, wantX, wantLoss := build(ref)
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range uint64(6) {
		in := draw(rng, rows*width)
		for _, err := range []error{dev.Write(g.Value(x), in), ref.Write(wantG.Value(wantX), in), g.DrawDropout(1, step, 0), wantG.DrawDropout(1, step, 0), g.Run(), wantG.Run()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := g.Scalar(loss)
		if err != nil {
			t.Fatal(err)
		}
		want, err := wantG.Scalar(wantLoss)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("step %d: the loss is %v, want %v", step, got, want)
		}
		for _, p := range ps.All() {
			a, b := make([]float32, p.Value.Size()), make([]float32, p.Value.Size())
			if err := dev.Read(a, g.ParamGrad(p)); err != nil {
				t.Fatal(err)
			}
			if err := ref.Read(b, wantG.ParamGrad(wantPs.Get(p.Name))); err != nil {
				t.Fatal(err)
			}
			for i := range a {
				if math.Abs(float64(a[i]-b[i])) > 1e-4*(1+math.Abs(float64(b[i]))) {
					t.Fatalf("step %d: gradient %d of %s is %v, want %v", step, i, p.Name, a[i], b[i])
				}
			}
		}
	}
}
