package model

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/weights"
)

// Names of the metric's model.
const (
	onnxA     = "a"
	onnxB     = "b"
	onnxRowsA = "n"
	onnxRowsB = "m"
)

// WriteMetricONNX writes a metric as an ONNX model of opset 17: from embeddings
// a (n, dim) and b (m, dim), for any n and m, to the values (n, m), an output
// called "distances", or "similarities" of cosine and dot. Of the metrics that
// are not symmetric the anchors are in a.
//
// Cosine and dot are one matrix product. The others take the rows of a one
// after another, each against the whole of b, in a Scan: they never hold more
// than a few times m x dim numbers besides inputs and output, and a and b
// subtract before anything is squared, so that close embeddings keep their
// precision. They are quickest with the fewer rows in a.
func WriteMetricONNX(path string, metric metric.Metric, dim int, extra map[string]string) error {
	file, err := metricONNX(metric, dim)
	if err != nil {
		return fmt.Errorf("model: ONNX of metric %v: %w", metric, err)
	}
	maps.Copy(file.Metadata, extra)
	return weights.WriteONNX(path, file)
}

func metricONNX(metric metric.Metric, dim int) (*weights.ONNXModel, error) {
	if err := metric.Validate(); err != nil {
		return nil, err
	}
	if dim < 1 {
		return nil, fmt.Errorf("embeddings of %d numbers", dim)
	}
	out := "distances"
	if metric.Similarity() {
		out = "similarities"
	}
	w := newONNXWriter("metric", onnxA, onnxB, out)
	w.values(metric, dim)
	if w.err != nil {
		return nil, w.err
	}
	w.graph.Nodes[len(w.graph.Nodes)-1].Outputs[0] = out
	matrix := func(name string, rows string, columns weights.ONNXDim) weights.ONNXValue {
		return weights.ONNXValue{Name: name, DType: weights.Float32, Shape: []weights.ONNXDim{{Name: rows}, columns}}
	}
	w.graph.Inputs = []weights.ONNXValue{
		matrix(onnxA, onnxRowsA, weights.ONNXDim{Size: dim}), matrix(onnxB, onnxRowsB, weights.ONNXDim{Size: dim}),
	}
	w.graph.Outputs = []weights.ONNXValue{matrix(out, onnxRowsA, weights.ONNXDim{Name: onnxRowsB})}
	file := newONNXModel(w.graph, "Values of "+metric.String()+" between the rows of a and b.")
	file.Metadata = map[string]string{onnxMetricKey: metric.String(), onnxDimKey: strconv.Itoa(dim)}
	return file, nil
}
