package intrabatch_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// Every gradient of the layers over a batch, with dropouts drawn, is the difference quotient
// of the loss along a random direction.
func TestGradientsOfLayersOverABatchAreTheirDifferences(t *testing.T) {
	for name, l := range map[string]*losses.IBC{
		"one layer":          {Layers: 1, Heads: 2, Temperature: 1, Smoothing: .1, Dropout: .3},
		"two layers, joined": {Layers: 2, Heads: 3, Width: 12, Joined: true, Temperature: .7},
	} {
		t.Run(name, func(t *testing.T) { differences(t, l) })
	}
}

func differences(t *testing.T, l *losses.IBC) {
	const n, dim, classes = 10, 8, 4
	eng := newEngine(t)
	ps := layers.NewParams(eng, 5)
	g := layers.NewGraph(eng, ps)
	x := g.Input("x", n, dim)
	g.NeedGrad(x)
	node, err := losses.Op(g, l, x, losses.OpOptions{Metric: metric.Metric{Kind: metric.Euclidean}, Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	g.Backward(node.Loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(v engine.Tensor, deviation float64) {
		host := make([]float32, v.Size())
		for i := range host {
			host[i] = float32(deviation * r.NormFloat64())
		}
		if err := eng.Write(v, host); err != nil {
			t.Fatal(err)
		}
	}
	draw(g.Value(x), 1)
	for _, p := range ps.All() { // biases away from 0
		if p.Role == layers.Bias {
			draw(p.Value, .2)
		}
	}
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i % classes
	}
	if err := node.SetLabels(labels); err != nil {
		t.Fatal(err)
	}
	if err := g.DrawDropout(3, 7, 0); err != nil {
		t.Fatal(err)
	}
	value := func() float64 {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		v, err := g.Scalar(node.Loss)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	check := func(name string, v, grad engine.Tensor) {
		value()
		at, slope, direction := make([]float32, v.Size()), make([]float32, v.Size()), make([]float64, v.Size())
		for host, from := range map[*[]float32]engine.Tensor{&at: v, &slope: grad} {
			if err := eng.Read(*host, from); err != nil {
				t.Fatal(err)
			}
		}
		want, length := 0., 0.
		for i := range direction {
			direction[i] = r.NormFloat64()
			length += direction[i] * direction[i]
		}
		for i := range direction {
			direction[i] /= math.Sqrt(length)
			want += direction[i] * float64(slope[i])
		}
		side := func(step float64) float64 {
			host := make([]float32, len(at))
			for i, x := range at {
				host[i] = x + float32(step*direction[i])
			}
			if err := eng.Write(v, host); err != nil {
				t.Fatal(err)
			}
			return value()
		}
		const step = 5e-4
		got := (side(step) - side(-step)) / (2 * step)
		if err := eng.Write(v, at); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 5e-3*max(1, math.Abs(want)) {
			t.Errorf("%s: the gradient along a direction is %.6g, the difference quotient %.6g", name, want, got)
		}
	}
	check("x", g.Value(x), g.Value(g.GradOf(x)))
	trained := 0
	for _, p := range ps.All() {
		if p.Trainable() {
			trained++
			check(p.Name, p.Value, g.ParamGrad(p))
		}
	}
	if want := 6 + 12*l.Layers; trained != want {
		t.Errorf("%d parameters are trained, want %d", trained, want)
	}
}
