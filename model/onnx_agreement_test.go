package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// disturb gives every parameter random values of a trained network's order, so
// that none has no effect.
func disturb(t *testing.T, m *Model) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	eng := m.Params.Engine()
	for _, p := range m.Params.All() {
		host := make([]float32, p.Value.Size())
		if err := eng.Read(host, p.Value); err != nil {
			t.Fatal(err)
		}
		for i := range host {
			switch {
			case strings.HasSuffix(p.Name, ".running_var"):
				host[i] = .5 + r.Float32()
			case p.Role == layers.NormGain:
				host[i] = .75 + r.Float32()/2
			case p.Role != layers.Weight:
				host[i] = .2 * (r.Float32() - .5)
			case p.Name == "cls_token":
				host[i] = r.Float32() - .5
			}
		}
		if err := eng.Write(p.Value, host); err != nil {
			t.Fatal(err)
		}
	}
}

func onnxSpec(t *testing.T, name string, size int) Spec {
	t.Helper()
	net, err := backbone.New(name)
	if err != nil {
		t.Fatal(err)
	}
	input := net.Preprocessing()
	if size > 0 {
		input = input.WithSize(size)
	}
	return Spec{Backbone: name, Input: input, Pool: DefaultPool(net), HeadNorm: HeadNormNone, Head: HeadLinear, Dim: 64,
		Normalization: NormRows, Scale: 1, Metric: metric.Metric{Kind: metric.BRM, P: 2}}
}

// pixels returns RGB values 0..255 of n images and what the preprocessing makes of them.
func pixels(n int, p backbone.Preprocessing) (rgb, fed []float32) {
	r := rand.New(rand.NewPCG(7, 8))
	area := p.Size * p.Size
	rgb = make([]float32, n*3*area)
	for i := range rgb {
		rgb[i] = float32(r.IntN(256))
	}
	fed = make([]float32, len(rgb))
	for i := range fed {
		c := i / area % 3
		from := i
		if p.BGR {
			from += (2 - 2*c) * area
		}
		fed[i] = float32((float64(rgb[from])/p.Range - p.Mean[c]) / p.Std[c])
	}
	return rgb, fed
}

// embedderJobs writes the model for each kind of input and returns runs of it at
// batch sizes 1 and 3.
func embedderJobs(t *testing.T, what string, m *Model, inputs ...ONNXInput) []onnxJob {
	t.Helper()
	e, err := m.NewEmbedder(1) // the same embeddings as in a batch, with less memory
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var jobs []onnxJob
	for _, n := range []int{1, 3} {
		rgb, fed := pixels(n, m.Spec.Input)
		rows, err := e.Embed(nil, fed)
		if err != nil {
			t.Fatal(err)
		}
		for _, input := range inputs {
			path := filepath.Join(t.TempDir(), "network.onnx")
			if err := m.WriteONNX(path, input, nil); err != nil {
				t.Fatal(err)
			}
			x := onnxTensor{name: onnxImages, dims: []int{n, 3, m.Spec.Input.Size, m.Spec.Input.Size}, data: fed, uint8: input == ONNXUint8}
			if input != ONNXPreprocessed {
				x.data = rgb
			}
			jobs = append(jobs, onnxJob{what: fmt.Sprintf("%s, %s, batch of %d", what, input, n), model: path, in: []onnxTensor{x},
				want: onnxTensor{name: onnxEmbeddings, dims: []int{n, m.Spec.Dim}, data: rows}})
		}
	}
	return jobs
}

func TestONNXRuntimeGivesTheEmbeddingsOfEveryBackbone(t *testing.T) {
	runtimeFolder(t)
	for _, name := range backbone.Names() {
		if name == backbone.FeaturesName {
			continue // it takes no images
		}
		net, err := backbone.New(name)
		if err != nil {
			t.Fatal(err)
		}
		if net.Tokens() && !slices.Contains([]string{"vits16", "dinov2s14reg4", "clipb32", "convnexttiny"}, name) {
			continue // one of each family stands for it
		}
		t.Run(name, func(t *testing.T) {
			m, err := New(newONNXEngine(t), onnxSpec(t, name, 0), 1)
			if err != nil {
				t.Fatal(err)
			}
			disturb(t, m)
			runONNX(t, embedderJobs(t, name, m, ONNXPreprocessed, ONNXUint8))
		})
	}
}

func TestONNXRuntimeGivesTheEmbeddingsOfEveryHead(t *testing.T) {
	runtimeFolder(t)
	eng := newONNXEngine(t)
	var jobs []onnxJob
	for what, change := range map[string]func(s *Spec){
		"227 pixels, batch norm": func(s *Spec) {
			*s = onnxSpec(t, "bninception:trunk-end=inception_4a", 227)
			s.HeadNorm = HeadNormBatch
		},
		"real cells only": func(s *Spec) { *s = onnxSpec(t, "inceptionv3:trunk-end=Mixed_5b,count-pad=false", 80) },
		"average pooling, layer norm": func(s *Spec) {
			s.Pool, s.HeadNorm, s.Normalization = PoolAvg, HeadNormLayer, NormNone
		},
		"maximum, no head":     func(s *Spec) { s.Pool, s.Head, s.Dim = PoolMax, HeadNone, 128 },
		"coordinates, cosine":  func(s *Spec) { s.Normalization, s.Metric = NormCoordinates, metric.Metric{Kind: metric.Cosine} },
		"ImageNet statistics":  func(s *Spec) { *s = onnxSpec(t, "convnet:pixels=imagenet", 0) },
		"long rows of a scale": func(s *Spec) { s.Scale = 3.5 },
		"hidden layers":        func(s *Spec) { s.Head, s.HeadNorm, s.Dropout = "mlp:24,16", HeadNormLayer, .5 },
		"a residual head":      func(s *Spec) { s.Head, s.HeadNorm = "residual:24", HeadNormBatch },
		"a scale each":         func(s *Spec) { s.Scaling = ScaleLearnEach },
	} {
		spec := onnxSpec(t, "convnet", 0)
		change(&spec)
		m, err := New(eng, spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		disturb(t, m)
		jobs = append(jobs, embedderJobs(t, what, m, ONNXFloat)...)
	}
	runONNX(t, jobs)
}

// Every op alone, with what the networks do not use of it.
func TestONNXRuntimeComputesEveryOp(t *testing.T) {
	runtimeFolder(t)
	eng := newONNXEngine(t)
	ops := map[string]func(g *layers.Graph, x *layers.Node) *layers.Node{
		"scale":       func(g *layers.Graph, x *layers.Node) *layers.Node { return g.Scale("y", x, -1.5) },
		"GELU":        func(g *layers.Graph, x *layers.Node) *layers.Node { return g.GELU("y", x, engine.GELUErf) },
		"GELU, tanh":  func(g *layers.Graph, x *layers.Node) *layers.Node { return g.GELU("y", x, engine.GELUTanh) },
		"GELU, quick": func(g *layers.Graph, x *layers.Node) *layers.Node { return g.GELU("y", x, engine.GELUQuick) },
		"softmax":     func(g *layers.Graph, x *layers.Node) *layers.Node { return g.Softmax("y", x) },
		"log-softmax": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.LogSoftmax("y", x)
		},
		"smooth rows": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.RowNorm("y", g.GlobalAvg("pool", x), engine.RowNormSpec{Scale: 2, Eps: .1, Smooth: true})
		},
		"tokens alone": func(g *layers.Graph, x *layers.Node) *layers.Node { return g.Tokens("y", x, nil, nil) },
		"tokens, positions": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Tokens("y", x, nil, g.Param("pos", layers.Weight, layers.Normal(1), 1, 77, 6))
		},
		"tokens, two before": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Tokens("y", x, g.Param("cls", layers.Weight, layers.Normal(1), 1, 2, 6), nil)
		},
		"linear of tokens without bias": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Linear("y", g.Tokens("t", x, nil, nil), g.Param("w", layers.Weight, layers.Normal(1), 4, 6), nil)
		},
		"linear of rows without bias": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Linear("y", g.GlobalMax("t", x), g.Param("w", layers.Weight, layers.Normal(1), 4, 6), nil)
		},
		"mixed rows": func(g *layers.Graph, x *layers.Node) *layers.Node {
			m := make([]float32, 79*5)
			for i := range m {
				m[i] = float32(math.Sin(float64(i)))
			}
			pos := g.MixRows("mixed", g.Param("pos", layers.Weight, layers.Normal(1), 1, 5, 6), m)
			prefix := g.Concat("both", g.Param("cls", layers.Weight, layers.Normal(1), 1, 1, 6), g.Param("reg", layers.Weight, layers.Normal(1), 1, 1, 6))
			return g.Tokens("y", x, prefix, pos)
		},
		"scaled rows": func(g *layers.Graph, x *layers.Node) *layers.Node {
			w := g.ScaleRows("scaled", g.Param("w", layers.Weight, layers.Normal(1), 4, 6), g.Param("s", layers.Weight, layers.Normal(1), 4))
			return g.Linear("y", g.Tokens("t", x, nil, nil), w, g.ScaleRows("bias", g.Param("b", layers.Bias, layers.Normal(1), 4), g.Param("s", layers.Weight, layers.Normal(1), 4)))
		},
		"attention": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Token("last", g.Attention("y", g.Tokens("t", x, nil, nil), 2), 76)
		},
		"map of tokens": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.Map("y", g.Tokens("t", x, nil, nil), 7, 11)
		},
		"ReLU6": func(g *layers.Graph, x *layers.Node) *layers.Node { return g.ReLU6("y", g.Scale("s", x, 5)) },
		"depthwise convolution": func(g *layers.Graph, x *layers.Node) *layers.Node {
			spec := engine.SameConv(5, 2, 7, 11)
			spec.Depthwise = true
			return g.ConvModule("y", x, 6, spec, true)
		},
		"padding at the end": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.ConvModule("y", x, 4, engine.ConvSpec{KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 2, EndH: 2, EndW: 1}, true)
		},
		"uneven convolution": func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.ConvModule("y", x, 4, engine.ConvSpec{KernelH: 3, KernelW: 2, StrideH: 2, StrideW: 1, PadH: 2, PadW: 1}, true)
		},
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		p := engine.PoolSpec{KernelH: 1 + r.IntN(4), KernelW: 1 + r.IntN(4), StrideH: 1 + r.IntN(4), StrideW: 1 + r.IntN(4), Ceil: r.IntN(3) > 0, CountPad: r.IntN(2) > 0}
		p.PadH, p.PadW = r.IntN(p.KernelH/2+1), r.IntN(p.KernelW/2+1)
		ops[fmt.Sprintf("average %+v", p)] = func(g *layers.Graph, x *layers.Node) *layers.Node { return g.AvgPool("y", x, p) }
		ops[fmt.Sprintf("maximum %+v", p)] = func(g *layers.Graph, x *layers.Node) *layers.Node { return g.MaxPool("y", x, p) }
	}
	var jobs []onnxJob
	for what, build := range ops {
		jobs = append(jobs, opJobs(t, eng, what, build)...)
	}
	runONNX(t, jobs)
}

// opJobs runs a graph on maps (n, 6, 7, 11).
func opJobs(t *testing.T, eng engine.Engine, what string, build func(g *layers.Graph, x *layers.Node) *layers.Node) []onnxJob {
	t.Helper()
	ps := layers.NewParams(eng, 1)
	shape := []int{1, 6, 7, 11}
	path := writeGraph(t, eng, ps, shape, build)
	var jobs []onnxJob
	for _, n := range []int{1, 3} {
		shape[0] = n
		g := layers.NewGraph(eng, ps)
		x := g.Input("x", shape...)
		y := build(g, x)
		if err := g.Compile(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		in := onnxTensor{name: onnxImages, dims: append([]int(nil), shape...), data: normals(n * 6 * 7 * 11)}
		if err := eng.Write(g.Value(x), in.data); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := onnxTensor{name: onnxEmbeddings, dims: append([]int(nil), y.Shape()...), data: make([]float32, y.Shape().TotalSize())}
		if err := eng.Read(want.data, g.Value(y)); err != nil {
			t.Fatal(err)
		}
		g.Close()
		jobs = append(jobs, onnxJob{what: fmt.Sprintf("%s, batch of %d", what, n), model: path, in: []onnxTensor{in}, want: want})
	}
	return jobs
}

func normals(n int) []float32 {
	r := rand.New(rand.NewPCG(9, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestONNXRuntimeGivesTheValuesOfEveryMetric(t *testing.T) {
	runtimeFolder(t)
	const h, n, k = 37, 5, 8
	a, b := normals(n*h), normals(k*h)
	copy(b, a[:2*h]) // an equal row and a close one
	b[h] += 1e-3
	clear(b[2*h : 3*h])
	for i := 3 * h; i < 5*h; i++ { // far away
		b[i] *= 20
	}
	for i := range h { // an anchor without signal
		a[4*h+i] = 2
	}
	var jobs []onnxJob
	names := []string{
		"brm:power", "brm:p=1", "brm:softsign", "brm:softsign,p=1", "brm:arctan", "brm:tanh,p=1", "brm:isru", "brm:isru,omega=0.3,p=1", "brm:isru,omega=2,power",
		"poincare:c=1,clip=0", "lorentz:c=0.01,clip=0", "lorentz:c=0.5,clip=2",
	}
	for _, info := range metric.Infos() {
		names = append(names, info.Metric.String())
	}
	for _, name := range names {
		m, err := metric.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "metric.onnx")
		if err := WriteMetricONNX(path, m, h, nil); err != nil {
			t.Fatal(err)
		}
		want := onnxTensor{name: "distances", dims: []int{n, k}}
		if m.Similarity() {
			want.name = "similarities"
		}
		for i := range n {
			for j := range k {
				v := m.Value(a[i*h:(i+1)*h], b[j*h:(j+1)*h])
				want.data = append(want.data, float32(v))
			}
		}
		jobs = append(jobs, onnxJob{what: name, model: path, want: want,
			in:   []onnxTensor{{name: onnxA, dims: []int{n, h}, data: a}, {name: onnxB, dims: []int{k, h}, data: b}},
			each: m.Kind <= metric.Manhattan, // what is subtracted first keeps its digits
		})
	}
	runONNX(t, jobs)
}
