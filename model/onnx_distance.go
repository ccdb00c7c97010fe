package model

import (
	"math"

	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/weights"
)

// tiny is the smallest normal float32.
const tiny = 0x1p-126

// values adds a metric between a and b; its last node makes the output.
func (w *onnxWriter) values(m metric.Metric, dim int) {
	row := scanned{"row", onnxA, dim}
	switch m.Kind {
	case metric.Cosine:
		a, _ := w.directions(onnxA)
		b, _ := w.directions(onnxB)
		w.products(a, b)
	case metric.Dot:
		w.products(onnxA, onnxB)
	case metric.SignalToNoise:
		row.from = w.centered(onnxA)
		b := w.centered(onnxB)
		w.scan(func(body *onnxWriter) { body.signalToNoise(b, row.name) }, row)
	case metric.Poincare, metric.Lorentz:
		a, sizes := w.directions(onnxA)
		row.from = a
		alpha := scanned{"row/radius", w.radii(onnxA, sizes, m), 1}
		b, sizes := w.directions(onnxB)
		beta := w.node("b/radii", "Reshape", []string{w.radii(onnxB, sizes, m), w.integers(-1)}, nil) // (m)
		w.scan(func(body *onnxWriter) { body.hyperbolic(b, row.name, beta, alpha.name, m) }, row, alpha)
	default:
		w.scan(func(body *onnxWriter) { body.difference(onnxB, row.name, m) }, row)
	}
}

func (w *onnxWriter) products(a, b string) {
	turned := w.node("b/transposed", "Transpose", []string{b}, attrs{"perm", []int{1, 0}})
	w.node("products", "MatMul", []string{a, turned}, nil)
}

// directions returns rows (n, h) brought to length 1, and their lengths (n, 1).
// Rows of zeros stay.
func (w *onnxWriter) directions(x string) (unit, length string) {
	length = w.node(x+"/length", "ReduceL2", []string{x}, attrs{"axes", []int{1}, "keepdims", 1})
	divisor := w.node(x+"/divisor", "Max", []string{length, w.number(tiny)}, nil)
	return w.node(x+"/unit", "Div", []string{x, divisor}, nil), length
}

// centered takes the mean off each row.
func (w *onnxWriter) centered(x string) string {
	mean := w.node(x+"/mean", "ReduceMean", []string{x}, attrs{"axes", []int{1}, "keepdims", 1})
	return w.node(x+"/centered", "Sub", []string{x, mean}, nil)
}

// radii are Metric.Radius of lengths, in units of the curvature.
func (w *onnxWriter) radii(name, lengths string, m metric.Metric) string {
	factor := math.Sqrt(m.Curvature)
	limit := factor * m.Bound() / 2
	if m.Kind == metric.Poincare {
		factor *= 2
	}
	r := w.node(name+"/reach", "Mul", []string{lengths, w.number(factor)}, nil)
	if math.IsInf(limit, 1) {
		return r
	}
	return w.node(name+"/radius", "Min", []string{r, w.number(limit)}, nil)
}

// scanned is what a loop takes row by row: from (n, size) is known inside it as
// name (size).
type scanned struct {
	name, from string
	size       int
}

// scan adds a loop. The last node of its body makes one line of values (m); the
// body may use what is outside.
func (w *onnxWriter) scan(add func(body *onnxWriter), inputs ...scanned) {
	const line = "line"
	// Names are taken inside and outside alike.
	body := &onnxWriter{graph: weights.ONNXGraph{Name: line}, taken: w.taken, constants: w.constants}
	outside := make([]string, len(inputs))
	for i, in := range inputs {
		w.taken[in.name] = true
		outside[i] = in.from
		body.graph.Inputs = append(body.graph.Inputs, weights.ONNXValue{Name: in.name, DType: weights.Float32, Shape: []weights.ONNXDim{{Size: in.size}}})
	}
	w.taken[line] = true
	add(body)
	if body.err != nil {
		w.fail(body.err)
	}
	body.graph.Nodes[len(body.graph.Nodes)-1].Outputs[0] = line
	body.graph.Outputs = []weights.ONNXValue{{Name: line, DType: weights.Float32, Shape: []weights.ONNXDim{{Name: onnxRowsB}}}}
	w.graph.Initializers = append(w.graph.Initializers, body.graph.Initializers...)
	body.graph.Initializers = nil
	w.node("lines", "Scan", outside, attrs{"body", &body.graph, "num_scan_inputs", len(inputs)})
}

// alongRows is how a reduction takes (m, h) to (m).
func alongRows() attrs { return attrs{"axes", []int{1}, "keepdims", 0} }

// difference is a metric of b - row: BRM, Manhattan and the Euclidean ones.
func (w *onnxWriter) difference(b, row string, m metric.Metric) {
	d := w.node("difference", "Sub", []string{b, row}, nil)
	switch m.Kind {
	case metric.Euclidean:
		w.node("length", "ReduceL2", []string{d}, alongRows())
		return
	case metric.SquaredEuclidean:
		w.node("squares", "ReduceSumSquare", []string{d}, alongRows())
		return
	case metric.Manhattan:
		w.node("magnitudes", "ReduceL1", []string{d}, alongRows())
		return
	}
	// The restrictions are odd functions, so the sign can wait (BRM Eq. 7).
	r := w.restrict(d, m)
	if m.P == 1 {
		r = w.node("magnitude", "Abs", []string{r}, nil)
		w.node("mean", "ReduceMean", []string{r}, alongRows())
		return
	}
	r = w.node("squares", "Mul", []string{r, r}, nil)
	mean := w.node("mean", "ReduceMean", []string{r}, alongRows())
	if !m.Power {
		w.node("root", "Sqrt", []string{mean}, nil)
	}
}

// restrict is R of BRM Table 1, continued to negative numbers by R(-t) = -R(t).
func (w *onnxWriter) restrict(d string, m metric.Metric) string {
	switch m.Restriction {
	case metric.Sigmoid: // 2/(1+e^-t) - 1 = tanh(t/2)
		return w.node("restricted", "Tanh", []string{w.node("half", "Mul", []string{d, w.number(.5)}, nil)}, nil)
	case metric.SoftSign:
		return w.node("restricted", "Softsign", []string{d}, nil)
	case metric.ArcTan:
		return w.node("restricted", "Atan", []string{d}, nil)
	case metric.TanH:
		return w.node("restricted", "Tanh", []string{d}, nil)
	}
	s := w.node("square", "Mul", []string{d, d}, nil)
	s = w.node("omega", "Mul", []string{s, w.number(m.Omega)}, nil)
	s = w.node("more", "Add", []string{s, w.number(1)}, nil)
	s = w.node("divisor", "Sqrt", []string{s}, nil)
	return w.node("restricted", "Div", []string{d, s}, nil)
}

// signalToNoise is the inverse of the ratio, of rows without their mean.
func (w *onnxWriter) signalToNoise(b, row string) {
	signal := w.node("signal", "ReduceSumSquare", []string{row}, attrs{"axes", []int{0}, "keepdims", 1})
	d := w.node("difference", "Sub", []string{b, row}, nil)
	noise := w.node("noise", "ReduceSumSquare", []string{d}, alongRows())
	ratio := w.node("ratio", "Div", []string{noise, signal}, nil)
	silent := w.node("silent", "Equal", []string{signal, w.number(0)}, nil)
	ratio = w.node("unrelated", "Where", []string{silent, w.number(2), ratio}, nil)
	same := w.node("same", "Equal", []string{noise, w.number(0)}, nil)
	w.node("value", "Where", []string{same, w.number(0), ratio}, nil)
}
