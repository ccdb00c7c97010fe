package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/weights"
)

// ONNXInput says what an exported network is fed.
type ONNXInput string

const (
	// ONNXPreprocessed is what an Embedder takes: float32, normalized, in the
	// network's order of channels.
	ONNXPreprocessed ONNXInput = "preprocessed"
	// ONNXUint8 is RGB in 0..255 as uint8, ONNXFloat the same as float32: the
	// network normalizes and orders the channels itself. Resizing and cropping
	// are left to the caller.
	ONNXUint8 ONNXInput = "uint8"
	ONNXFloat ONNXInput = "float"
)

// Names of inputs and outputs of exported networks.
const (
	onnxImages     = "images"
	onnxFeatures   = "features"
	onnxEmbeddings = "embeddings"
	onnxBatch      = "batch"
)

// Keys of the metadata of exported networks, beside specKey.
const (
	onnxInputKey  = "vernier.input"
	onnxPreKey    = "vernier.preprocessing"
	onnxMetricKey = "vernier.metric"
	onnxDimKey    = "vernier.dim"
)

// WriteONNX writes the network in evaluation as an ONNX model of opset 17, from
// images (batch, 3, size, size) to embeddings (batch, h), for any batch.
// Initializers have the parameters' names. The metadata hold the specification,
// the metric, the preprocessing and the threshold, and extra. The same model gives the same bytes.
func (m *Model) WriteONNX(path string, input ONNXInput, extra map[string]string) error {
	file, err := m.onnx(input)
	if err != nil {
		return fmt.Errorf("model: ONNX of %s: %w", m.Spec.Backbone, err)
	}
	maps.Copy(file.Metadata, extra)
	return weights.WriteONNX(path, file)
}

func (m *Model) onnx(input ONNXInput) (*weights.ONNXModel, error) {
	if m.HasLevels() {
		return nil, metric.ErrLinks
	}
	m, err := m.Merged()
	if err != nil {
		return nil, err
	}
	whole := *m
	whole.entry = ""           // from images, wherever training began
	whole.Spec.Input.Crops = 0 // the network takes one
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	g.Unfused() // steps are layers
	images, embeddings, err := whole.evaluate(g, 1)
	if err != nil {
		return nil, err
	}
	steps, err := g.Steps(embeddings)
	if err != nil {
		return nil, err
	}
	if m.Width() > 0 {
		return m.onnxRows(g, steps, images, input)
	}
	w := newONNXWriter(m.Spec.Backbone, onnxImages, onnxEmbeddings)
	fed := w.feed(input, m.Spec.Input)
	if err := w.network(g, steps, images, fed); err != nil {
		return nil, err
	}
	size := m.Spec.Input.Size
	element := weights.Float32
	text := "float32, preprocessed as " + onnxPreKey + " says"
	switch input {
	case ONNXPreprocessed:
	case ONNXUint8:
		element = weights.Uint8
		fallthrough
	case ONNXFloat:
		text = fmt.Sprintf("%v RGB in 0..255, resized and cut as %s says; the rest of it is done inside", element, onnxPreKey)
	default:
		return nil, fmt.Errorf("unknown input %q (there is: %s, %s, %s)", input, ONNXPreprocessed, ONNXUint8, ONNXFloat)
	}
	w.graph.Inputs = []weights.ONNXValue{{Name: onnxImages, DType: element,
		Shape: []weights.ONNXDim{{Name: onnxBatch}, {Size: 3}, {Size: size}, {Size: size}}}}
	w.graph.Outputs = []weights.ONNXValue{{Name: onnxEmbeddings, DType: weights.Float32,
		Shape: []weights.ONNXDim{{Name: onnxBatch}, {Size: m.Spec.Dim}}}}
	pre, err := json.Marshal(m.Spec.Input)
	if err != nil {
		return nil, err
	}
	file := newONNXModel(w.graph, "Images to embeddings, which are compared by "+m.Spec.Metric.String()+".")
	file.Metadata = map[string]string{
		specKey: m.Spec.String(), onnxMetricKey: m.Spec.Metric.String(), onnxDimKey: strconv.Itoa(m.Spec.Dim),
		onnxPreKey: string(pre), onnxInputKey: fmt.Sprintf("%s (%s, 3, %d, %d): %s", onnxImages, onnxBatch, size, size, text),
	}
	return file, m.Threshold.store(file.Metadata)
}

// onnxRows is onnx of a model that takes rows of numbers.
func (m *Model) onnxRows(g *layers.Graph, steps []layers.Step, rows *layers.Node, input ONNXInput) (*weights.ONNXModel, error) {
	if input != ONNXPreprocessed {
		return nil, fmt.Errorf("input %q is of images, and the model takes rows of numbers: use %q", input, ONNXPreprocessed)
	}
	w := newONNXWriter(m.Spec.Backbone, onnxFeatures, onnxEmbeddings)
	if len(steps) == 0 {
		w.graph.Nodes = []weights.ONNXNode{{Name: "embedding", Op: "Identity", Inputs: []string{onnxFeatures}, Outputs: []string{onnxEmbeddings}}}
	} else if err := w.network(g, steps, rows, onnxFeatures); err != nil {
		return nil, err
	}
	w.graph.Inputs = []weights.ONNXValue{{Name: onnxFeatures, DType: weights.Float32, Shape: []weights.ONNXDim{{Name: onnxBatch}, {Size: m.Width()}}}}
	w.graph.Outputs = []weights.ONNXValue{{Name: onnxEmbeddings, DType: weights.Float32, Shape: []weights.ONNXDim{{Name: onnxBatch}, {Size: m.Spec.Dim}}}}
	file := newONNXModel(w.graph, "Features to embeddings, which are compared by "+m.Spec.Metric.String()+".")
	file.Metadata = map[string]string{
		specKey: m.Spec.String(), onnxMetricKey: m.Spec.Metric.String(), onnxDimKey: strconv.Itoa(m.Spec.Dim),
		onnxInputKey: fmt.Sprintf("%s (%s, %d): float32, as the network gives them that they come from", onnxFeatures, onnxBatch, m.Width()),
	}
	return file, m.Threshold.store(file.Metadata)
}

func newONNXModel(graph weights.ONNXGraph, doc string) *weights.ONNXModel {
	return &weights.ONNXModel{Producer: "vernier", Doc: doc, Graph: graph}
}
