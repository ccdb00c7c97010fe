package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Numbers of TensorProto.DataType.
const (
	protoFloat = 1
	protoUint8 = 2
)

func TestAnONNXFileHoldsTheModel(t *testing.T) {
	eng := newONNXEngine(t)
	for what, spec := range map[string]Spec{
		"convnet":     onnxSpec(t, "convnet", 16),
		"bninception": onnxSpec(t, "bninception:trunk-end=inception_3a", 64),
		"resnet50":    onnxSpec(t, "resnet50:trunk-end=layer1", 32),
		"inceptionv3": onnxSpec(t, "inceptionv3:trunk-end=Mixed_5b", 80),
		"googlenet":   onnxSpec(t, "googlenet:trunk-end=inception3a", 64),
		"vits16":      onnxSpec(t, "vits16", 32),
	} {
		m, err := New(eng, spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "network.onnx")
		if err := m.WriteONNX(path, ONNXUint8, map[string]string{"note": "hello"}); err != nil {
			t.Fatal(err)
		}
		model, graph, metadata := readONNX(t, path)
		if ir, opset := model.integers(1)[0], model.messages(t, 8)[0].integers(2)[0]; ir != 8 || opset != 17 {
			t.Errorf("%s: format %d with operators %d, want 8 with 17", what, ir, opset)
		}
		size := spec.Input.Size
		for _, v := range []struct {
			field   protowire.Number
			name    string
			element int
			dims    []any
		}{{11, "images", protoUint8, []any{"batch", 3, size, size}}, {12, "embeddings", protoFloat, []any{"batch", 64}}} {
			name, element, dims := onnxShape(t, graph.messages(t, v.field)[0])
			if name != v.name || element != v.element || fmt.Sprint(dims) != fmt.Sprint(v.dims) {
				t.Errorf("%s: %s of type %d %v, want %s of type %d %v", what, name, element, dims, v.name, v.element, v.dims)
			}
		}
		checkInitializers(t, what, m, graph)
		checkNodes(t, what, graph)
		var back Spec
		if err := json.Unmarshal([]byte(metadata["vernier.model"]), &back); err != nil || back != spec {
			t.Errorf("%s: the metadata give the specification %v (%v)", what, back, err)
		}
		var input backbone.Preprocessing
		if err := json.Unmarshal([]byte(metadata["vernier.preprocessing"]), &input); err != nil || input != spec.Input {
			t.Errorf("%s: the metadata give the preprocessing %v (%v)", what, input, err)
		}
		if metadata["vernier.metric"] != "brm" || metadata["vernier.dim"] != "64" || metadata["note"] != "hello" || !strings.Contains(metadata["vernier.input"], "uint8 RGB") {
			t.Errorf("%s: metadata %v", what, metadata)
		}
	}
}

// checkInitializers compares them with the parameters, byte for byte.
func checkInitializers(t *testing.T, what string, m *Model, graph onnxFields) {
	t.Helper()
	left := map[string]bool{}
	for _, p := range m.Params.All() {
		left[p.Name] = true
	}
	for _, x := range graph.messages(t, 5) {
		name := x.text(8)
		if !left[name] {
			if !strings.HasPrefix(name, "const/") && !strings.HasPrefix(name, "preprocessing.") {
				t.Errorf("%s: initializer %q is no parameter", what, name)
			}
			continue
		}
		delete(left, name)
		p := m.Params.Get(name)
		host := make([]float32, p.Value.Size())
		if err := m.Params.Engine().Read(host, p.Value); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, v := range host {
			want = binary.LittleEndian.AppendUint32(want, math.Float32bits(v))
		}
		if x.integers(2)[0] != protoFloat || !slices.Equal(x.integers(1), []int(p.Value.Shape())) || x.text(9) != string(want) {
			t.Errorf("%s: %s has type %d, shape %v and %d bytes, not those of the parameter", what, name, x.integers(2)[0], x.integers(1), len(x.text(9)))
		}
	}
	if len(left) > 0 {
		t.Errorf("%s: no initializers for %v", what, left)
	}
}

// checkNodes makes sure that all names are defined once and before their use,
// and that no pooling leaves its windows to the runtime.
func checkNodes(t *testing.T, what string, graph onnxFields) {
	t.Helper()
	known := map[string]bool{"images": true}
	for _, x := range graph.messages(t, 5) {
		known[x.text(8)] = true
	}
	for _, n := range graph.messages(t, 1) {
		for _, in := range n.texts(1) {
			if !known[in] {
				t.Errorf("%s: node %s uses %q", what, n.text(3), in)
			}
		}
		for _, out := range n.texts(2) {
			if known[out] {
				t.Errorf("%s: node %s makes %q, which exists", what, n.text(3), out)
			}
			known[out] = true
		}
		for _, a := range n.messages(t, 5) {
			if a.text(1) == "ceil_mode" {
				t.Errorf("%s: node %s uses ceil_mode", what, n.text(3))
			}
		}
	}
	if !known["embeddings"] {
		t.Errorf("%s: no embeddings", what)
	}
}

func TestTheSameModelGivesTheSameONNXBytes(t *testing.T) {
	m, err := New(newONNXEngine(t), onnxSpec(t, "vits16", 32), 1)
	if err != nil {
		t.Fatal(err)
	}
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "network.onnx")
		if err := m.WriteONNX(path, ONNXPreprocessed, map[string]string{"b": "1", "a": "2"}); err != nil {
			t.Fatal(err)
		}
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of one model differ")
	}
}

func TestTheMetricsModelTakesRowsOneByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metric.onnx")
	if err := WriteMetricONNX(path, metric.Metric{Kind: metric.BRM, Restriction: metric.ISRU, Omega: .25, P: 2}, 6, nil); err != nil {
		t.Fatal(err)
	}
	_, graph, metadata := readONNX(t, path)
	if metadata["vernier.metric"] != "brm:isru,omega=0.25" || metadata["vernier.dim"] != "6" {
		t.Errorf("metadata %v", metadata)
	}
	for i, want := range []string{"a 1 [n 6]", "b 1 [m 6]"} {
		name, element, dims := onnxShape(t, graph.messages(t, 11)[i])
		if got := fmt.Sprint(name, " ", element, " ", dims); got != want {
			t.Errorf("input %d is %s, want %s", i, got, want)
		}
	}
	if name, _, dims := onnxShape(t, graph.messages(t, 12)[0]); name != "distances" || fmt.Sprint(dims) != "[n m]" {
		t.Errorf("output %s %v", name, dims)
	}
	// A subtraction outside of the loop would make n x m x h numbers.
	nodes := graph.messages(t, 1)
	if len(nodes) != 1 || nodes[0].text(4) != "Scan" {
		t.Fatalf("%d nodes, the first is a %s; want one Scan", len(nodes), nodes[0].text(4))
	}
	var ops []string
	for _, a := range nodes[0].messages(t, 5) {
		for _, body := range a.messages(t, 6) {
			for _, n := range body.messages(t, 1) {
				ops = append(ops, n.text(4))
			}
		}
	}
	if got := strings.Join(ops, " "); got != "Sub Mul Mul Add Sqrt Div Mul ReduceMean Sqrt" {
		t.Errorf("the loop computes %s", got)
	}
}

// An average over padding in a window that reaches beyond it: the padding that
// counts becomes cells.
func TestAveragesCountOnlyThePaddingThatTheyShould(t *testing.T) {
	eng := newONNXEngine(t)
	spec := engine.PoolSpec{KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, Ceil: true, CountPad: true}
	path := writeGraph(t, eng, layers.NewParams(eng, 1), []int{1, 2, 4, 5}, func(g *layers.Graph, x *layers.Node) *layers.Node {
		return g.AvgPool("y", x, spec)
	})
	_, graph, _ := readONNX(t, path)
	nodes := graph.messages(t, 1)
	if len(nodes) != 2 || nodes[0].text(4) != "Pad" || nodes[1].text(4) != "AveragePool" {
		t.Fatalf("nodes %v", nodes)
	}
	// 4 cells and 2 of padding have windows at 0, 2 and 4, the last one a cell too
	// long; 5 and 2 have windows at 0, 2 and 4 that fit.
	for _, a := range nodes[1].messages(t, 5) {
		switch a.text(1) {
		case "pads":
			if got := a.integers(8); !slices.Equal(got, []int{0, 0, 1, 0}) {
				t.Errorf("pads %v, want 0 0 1 0", got)
			}
		case "count_include_pad":
			t.Error("counts what lies beyond the padding")
		}
	}
}

func TestWhatONNXCannotHoldIsNamed(t *testing.T) {
	eng := newONNXEngine(t)
	m, err := New(eng, onnxSpec(t, "convnet", 16), 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "network.onnx")
	wrong := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
	wrong(m.WriteONNX(path, "png", nil), `"png" (there is: preprocessed, uint8, float)`)
	wrong(m.WriteONNX(filepath.Join(path, "x"), ONNXUint8, nil), path)
	wrong(WriteMetricONNX(path, metric.Metric{Kind: metric.BRM, P: 3}, 4, nil), "p is 3")
	wrong(WriteMetricONNX(path, metric.Metric{Kind: metric.Cosine}, 0, nil), "0 numbers")
	for want, build := range map[string]func(g *layers.Graph, x *layers.Node) *layers.Node{
		`"bn": normalizes with the statistics of the batch`: func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.BatchNormModule("bn", x, 1e-5, .1, false)
		},
		`"d": an op of kind`: func(g *layers.Graph, x *layers.Node) *layers.Node {
			rows := g.GlobalAvg("rows", x)
			return g.Pairwise("d", rows, rows, metric.Metric{Kind: metric.Euclidean})
		},
		`"pool": a 1x1 window`: func(g *layers.Graph, x *layers.Node) *layers.Node {
			return g.MaxPool("pool", x, engine.SquarePool(1, 1, 1, false))
		},
	} {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		x := g.Input("x", 2, 3, 4, 4)
		steps, err := g.Steps(build(g, x))
		if err != nil {
			t.Fatal(err)
		}
		wrong(newONNXWriter("w").network(g, steps, x, "x"), want)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("a failed export leaves %v (%v)", entries, err)
	}
}
