package model

import (
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// writeGraph writes what build makes of an input of a shape, whose first axis is free.
func writeGraph(t *testing.T, eng engine.Engine, ps *layers.Params, shape []int, build func(g *layers.Graph, x *layers.Node) *layers.Node) string {
	t.Helper()
	g := layers.NewGraph(eng, ps)
	x := g.Input("x", shape...)
	y := build(g, x)
	steps, err := g.Steps(y)
	if err != nil {
		t.Fatal(err)
	}
	w := newONNXWriter("op", onnxImages, onnxEmbeddings)
	if err := w.network(g, steps, x, onnxImages); err != nil {
		t.Fatal(err)
	}
	dims := func(shape []int) []weights.ONNXDim {
		list := []weights.ONNXDim{{Name: onnxBatch}}
		for _, d := range shape[1:] {
			list = append(list, weights.ONNXDim{Size: d})
		}
		return list
	}
	w.graph.Inputs = []weights.ONNXValue{{Name: onnxImages, Shape: dims(shape)}}
	w.graph.Outputs = []weights.ONNXValue{{Name: onnxEmbeddings, Shape: dims(y.Shape())}}
	path := filepath.Join(t.TempDir(), "op.onnx")
	if err := weights.WriteONNX(path, newONNXModel(w.graph, "")); err != nil {
		t.Fatal(err)
	}
	return path
}
