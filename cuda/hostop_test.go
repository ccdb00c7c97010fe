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

// bent is an operation of a program's own: x below 0 counts by a learned slope.
type bent struct{}

func (bent) Shape(in ...[]int) ([]int, error) { return in[0], nil }

func (bent) Forward(y layers.Array, x ...layers.Array) error {
	for i, v := range x[0].V {
		y.V[i] = max(v, 0) + x[1].V[0]*min(v, 0)
	}
	return nil
}

func (bent) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	dx[1].V[0] = 0
	for i, v := range x[0].V {
		dx[0].V[i] = dy.V[i]
		if v < 0 {
			dx[0].V[i] *= x[1].V[0]
			dx[1].V[0] += dy.V[i] * v
		}
	}
	return nil
}

// An operation that the host computes stands between recordings, and sees what they
// computed in this step.
func TestAHostOpBetweenRecordings(t *testing.T) {
	g := stepsOfBoth(t, []int{4, 3, 6, 6}, func(g *layers.Graph, x *layers.Node) *layers.Node {
		y := g.ConvModule("conv", x, 4, engine.SquareConv(3, 1, 1), true)
		y = g.HostOp("bent", bent{}, y, g.Param("slope", layers.Bias, layers.Constant(.25), 1))
		return g.LinearModule("head", g.GlobalAvg("pool", y), 3)
	}, func(*layers.Graph, int) error { return nil }, func(_ int, name string, got, want []float32) {
		near(t, name, got, want, 1e-4)
	})
	// Before the operation, between it and the loss, behind the loss, and behind its
	// gradient.
	if stretches, refusal := g.Recorded(); stretches != 4 || refusal != nil {
		t.Errorf("%d recordings, refusal %v", stretches, refusal)
	}
}

// stepsOfBoth runs six steps of a network, with new input and what before does to its
// graph, on a fake device and on the reference engine. It compares the losses, and hands
// the gradient of each parameter on to compare. It returns the device's graph.
func stepsOfBoth(t *testing.T, input []int, network func(*layers.Graph, *layers.Node) *layers.Node,
	before func(g *layers.Graph, step int) error, compare func(step int, name string, got, want []float32)) *layers.Graph {
	t.Helper()
	build := func(eng engine.Engine) (g *layers.Graph, ps *layers.Params, x, loss *layers.Node) {
		ps = layers.NewParams(eng, 5)
		g = layers.NewGraph(eng, ps)
		x = g.Input("input", input...)
		loss = g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
			sum := 0.
			for i, a := range v[0] {
				w := math.Sin(float64(i))
				sum += w * a
				grads[0][i] = w
			}
			return sum, nil
		}, network(g, x))
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
	for step := range 6 {
		in := draw(rng, x.Shape().TotalSize())
		for _, err := range []error{dev.Write(g.Value(x), in), ref.Write(wantG.Value(wantX), in), before(g, step), before(wantG, step), g.Run(), wantG.Run()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := g.Scalar(loss)
		if err != nil {
			t.Fatal(err)
		}
		want, err := wantG.Scalar(wantLoss)
		if err != nil || math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("step %d: loss %v, want %v, %v", step, got, want, err)
		}
		for _, p := range ps.All() {
			compare(step, p.Name, numbers(t, dev, g.ParamGrad(p)), numbers(t, ref, wantG.ParamGrad(wantPs.Get(p.Name))))
		}
	}
	return g
}

func draw(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
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
