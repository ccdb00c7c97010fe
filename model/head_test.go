package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// headSpec is a head of three numbers on features of five.
func headSpec(head Head, norm HeadNorm) Spec {
	return Spec{Backbone: backbone.FeaturesSpec(5, backbone.RowsLength), Pool: PoolNone, HeadNorm: norm, Head: head, Dim: 3,
		Normalization: NormRows, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine}}
}

// Gradients of heads are the differences of a sum of their embeddings, for the features
// and every parameter. Where a ReLU bends between the two sides, the difference says
// nothing: there are few such places, and both one-sided differences are looked at.
func TestGradientsOfHeadsAreTheirDifferences(t *testing.T) {
	const rows = 4
	for _, head := range []Head{HeadLinear, "mlp:6", "mlp:7,4", "residual:6"} {
		for _, norm := range []HeadNorm{HeadNormNone, HeadNormLayer, HeadNormBatch} {
			t.Run(fmt.Sprintf("%s, %s", head, norm), func(t *testing.T) {
				eng := reference.New()
				m, err := New(eng, headSpec(head, norm), 3)
				if err != nil {
					t.Fatal(err)
				}
				disturb(t, m)
				r := rand.New(rand.NewPCG(7, 8))
				for _, p := range m.Params.All() { // a residual head's second layer starts at 0
					if strings.HasSuffix(p.Name, "fc2.weight") {
						w := make([]float32, p.Value.Size())
						for i := range w {
							w[i] = r.Float32() - .5
						}
						if err := eng.Write(p.Value, w); err != nil {
							t.Fatal(err)
						}
					}
				}
				g := layers.NewGraph(eng, m.Params)
				in := g.Input("rows", rows, 5)
				g.NeedGrad(in)
				e := m.Forward(g, in, true)
				loss := g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
					sum := 0.
					for i, x := range v[0] {
						grads[0][i] = math.Cos(float64(i))
						sum += grads[0][i] * x
					}
					return sum, nil
				}, e)
				g.Backward(loss, nil)
				if err := g.Compile(); err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				x := make([]float32, rows*5)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				if err := eng.Write(g.Value(in), x); err != nil {
					t.Fatal(err)
				}
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
				tensors := map[string][2]engine.Tensor{"features": {g.Value(in), g.Value(g.GradOf(in))}}
				for _, p := range m.Params.All() {
					if p.Trainable() {
						tensors[p.Name] = [2]engine.Tensor{p.Value, g.ParamGrad(p)}
					}
				}
				for name, pair := range tensors {
					value()
					at, grad := make([]float32, pair[0].Size()), make([]float32, pair[0].Size())
					if err := eng.Read(at, pair[0]); err != nil {
						t.Fatal(err)
					}
					if err := eng.Read(grad, pair[1]); err != nil {
						t.Fatal(err)
					}
					moved := func(i int, by float32) float64 {
						to := append([]float32(nil), at...)
						to[i] += by
						if err := eng.Write(pair[0], to); err != nil {
							t.Fatal(err)
						}
						return value()
					}
					for i, want := range grad {
						const h = 1. / 256
						up, here, down := moved(i, h), moved(i, 0), moved(i, -h)
						near := math.Inf(1)
						for _, diff := range []float64{(up - down) / (2 * h), (up - here) / h, (here - down) / h} {
							near = min(near, math.Abs(diff-float64(want)))
						}
						if near > 1e-2*(1+math.Abs(float64(want))) {
							t.Errorf("%s: gradient %d is %v, differences give %v", name, i, want, (up-down)/(2*h))
						}
					}
					moved(0, 0)
				}
			})
		}
	}
}
