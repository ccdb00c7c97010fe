package structure_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/losses/structure"
	"github.com/vernier-ml/vernier/metric"
)

var cosine = metric.Metric{Kind: metric.Cosine}

// bench is a loss with a term in a graph on features and raw embeddings.
type bench struct {
	t           *testing.T
	g           *layers.Graph
	params      *layers.Params
	eng         engine.Engine
	features, x *layers.Node
	node        *losses.Node
	labels      []int
}

func newBench(t *testing.T, eng engine.Engine, loss string, lossParams map[string]string, m metric.Metric, term losses.Term, labels []int, classes, c, dim int) *bench {
	t.Helper()
	b := &bench{t: t, eng: eng, params: layers.NewParams(eng, 1), labels: labels}
	b.g = layers.NewGraph(eng, b.params)
	b.features, b.x = b.g.Input("features", len(labels), c), b.g.Input("x", len(labels), dim)
	b.g.NeedGrad(b.features)
	b.g.NeedGrad(b.x)
	l, err := losses.New(loss, losses.Options{Metric: m, Classes: classes, Dim: dim, Params: lossParams})
	if err != nil {
		t.Fatal(err)
	}
	unit := func(name string, x *layers.Node) *layers.Node {
		if m.Kind != metric.Cosine {
			return x
		}
		return b.g.RowNorm(name, x, engine.RowNormSpec{Scale: 1, Eps: 1e-12})
	}
	b.node, err = losses.Op(b.g, l, unit("rows", b.x), losses.OpOptions{
		Metric: m, Classes: classes, Normalize: func(rows *layers.Node) *layers.Node { return unit("proxies", rows) },
		Terms: []losses.Term{term}, Raw: b.x, Features: b.features,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.g.Backward(b.node.Loss, nil)
	if err := b.g.Compile(); err != nil {
		t.Fatal(err)
	}
	if err := b.node.SetLabels(labels); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) write(to engine.Tensor, v []float32) {
	if err := b.eng.Write(to, v); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(from engine.Tensor) []float32 {
	v := make([]float32, from.Size())
	if err := b.eng.Read(v, from); err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *bench) run() float64 {
	if err := b.g.Run(); err != nil {
		b.t.Fatal(err)
	}
	v, err := b.g.Scalar(b.node.Loss)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func engines(t *testing.T) map[string]engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return map[string]engine.Engine{"cpu": eng, "reference": reference.New()}
}

// The whole loss of the authors, cosface with JRD, on each engine.
func TestGoldenCosfaceWithJRD(t *testing.T) {
	golden.Walk(t, "jrd", func(t *testing.T, c *golden.Case) {
		w, features, x := c.Inputs["w"], c.Inputs["features"], c.Inputs["x"]
		dim, classes := w.Shape[0], w.Shape[1]
		params := map[string]string{"margin": number(c.Params.Float("margin", 0)), "scale": number(c.Params.Float("scale", 0))}
		term := losses.Term{Name: "jrd", Batch: structure.JRD{Weight: c.Params.Float("alpha", 0), Kernels: [3]int(c.Params.Ints("kernels")), Spread: c.Params.Float("mul", 0)}}
		for name, eng := range engines(t) {
			b := newBench(t, eng, "cosface", params, cosine, term, c.Inputs["labels"].Ints(), classes, features.Shape[1], dim)
			turned := make([]float32, len(w.Data))
			for k := range dim {
				for j := range classes {
					turned[j*dim+k] = float32(w.Data[k*classes+j])
				}
			}
			rows := b.params.Get(losses.ClassRowsParam)
			b.write(rows.Value, turned)
			b.write(b.g.Value(b.features), features.Float32())
			b.write(b.g.Value(b.x), x.Float32())
			golden.Close32(t, name+": value", []float32{float32(b.run())}, c.Outputs["value"])
			golden.Close32(t, name+": gradient of features", b.read(b.g.Value(b.g.GradOf(b.features))), c.Outputs["grad_features"])
			golden.Close32(t, name+": gradient of x", b.read(b.g.Value(b.g.GradOf(b.x))), c.Outputs["grad_x"])
			dp, dw := b.read(b.g.ParamGrad(rows)), make([]float32, len(w.Data))
			for k := range dim {
				for j := range classes {
					dw[k*classes+j] = dp[j*dim+k]
				}
			}
			golden.Close32(t, name+": gradient of w", dw, c.Outputs["grad_w"])
		}
	})
}

// The gradient of the structure head's numbers, by differences on the graph: they move no
// level of distances.
func TestNASAGradientsOnTheGraphByFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	labels := []int{0, 0, 1, 1, 2, 2}
	for name, eng := range engines(t) {
		b := newBench(t, eng, "contrastive", nil, metric.Metric{Kind: metric.Euclidean}, losses.Term{Name: "nasa", Batch: structure.NASA{}}, labels, 3, 4, 5)
		draw := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			return v
		}
		features := draw(len(labels) * 4)
		b.write(b.g.Value(b.features), features)
		b.write(b.g.Value(b.x), draw(len(labels)*5))
		b.run()
		check := func(what string, to engine.Tensor, at, grad []float32) {
			for i := 0; i < len(at); i += 1 + len(at)/7 {
				const step = 2e-3
				was := at[i]
				side := func(d float32) float64 {
					at[i] = was + d
					b.write(to, at)
					return b.run()
				}
				want := (side(step) - side(-step)) / (2 * step)
				at[i] = was
				b.write(to, at)
				if got := float64(grad[i]); math.Abs(got-want) > 2e-3*max(.1, math.Abs(want)) {
					t.Errorf("%s: %s %d: gradient %v, by differences %v", name, what, i, got, want)
				}
			}
		}
		checkGrads := map[string][]float32{}
		var own []*layers.Param
		for _, p := range b.params.All() {
			if p.Group == layers.Training && p.Trainable() {
				own = append(own, p)
				checkGrads[p.Name] = b.read(b.g.ParamGrad(p))
			}
		}
		if len(own) != 8 {
			t.Errorf("%d parameters of training, want 8", len(own))
		}
		grad := b.read(b.g.Value(b.g.GradOf(b.features)))
		check("features", b.g.Value(b.features), features, grad)
		for _, p := range own {
			check(p.Name, p.Value, b.read(p.Value), checkGrads[p.Name])
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
