package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// onnxWriter adds nodes to an ONNX graph. Values are known by their names. The
// first mistake is kept in err; what follows it is of no use.
type onnxWriter struct {
	graph     weights.ONNXGraph
	taken     map[string]bool // names of values
	constants map[string]bool
	err       error
}

// newONNXWriter begins a graph; reserved names are those of its inputs and outputs.
func newONNXWriter(name string, reserved ...string) *onnxWriter {
	w := &onnxWriter{
		graph: weights.ONNXGraph{Name: name}, taken: map[string]bool{}, constants: map[string]bool{},
	}
	for _, r := range reserved {
		w.taken[r] = true
	}
	return w
}

// attrs are attributes of a node in order: name, value, name, value.
type attrs []any

// node adds a node with one output and returns the output's name, which is the
// node's own.
func (w *onnxWriter) node(name, op string, in []string, a attrs) string {
	return w.multi(name, op, in, 1, a)[0]
}

// multi adds a node with n outputs.
func (w *onnxWriter) multi(name, op string, in []string, n int, a attrs) []string {
	node := weights.ONNXNode{Name: w.unique(name), Op: op, Inputs: in}
	node.Outputs = []string{node.Name}
	for i := 1; i < n; i++ {
		node.Outputs = append(node.Outputs, w.unique(fmt.Sprintf("%s.%d", node.Name, i)))
	}
	for i := 0; i < len(a); i += 2 {
		node.Attributes = append(node.Attributes, weights.ONNXAttribute{Name: a[i].(string), Value: a[i+1]})
	}
	w.graph.Nodes = append(w.graph.Nodes, node)
	return node.Outputs
}

// unique returns a name that is not taken, and takes it.
func (w *onnxWriter) unique(name string) string {
	name = strings.ReplaceAll(name, " ", "_")
	free := name
	for i := 2; w.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	w.taken[free] = true
	return free
}

func (w *onnxWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// constant adds an initializer, unless the graph has it.
func (w *onnxWriter) constant(t *weights.Tensor, err error) string {
	if err != nil {
		w.fail(err)
		return ""
	}
	switch {
	case w.constants[t.Name]:
	case w.taken[t.Name]:
		w.fail(fmt.Errorf("the name %q is taken", t.Name))
	default:
		w.taken[t.Name], w.constants[t.Name] = true, true
		w.graph.Initializers = append(w.graph.Initializers, t)
	}
	return t.Name
}

// number returns a scalar. Its name says its value, so that nodes share it.
func (w *onnxWriter) number(v float64) string {
	name := "const/" + strconv.FormatFloat(float64(float32(v)), 'g', -1, 32)
	return w.constant(weights.FromFloat32(name, nil, []float32{float32(v)}))
}

// index returns an integer scalar.
func (w *onnxWriter) index(i int) string {
	return w.constant(weights.FromInt64(fmt.Sprintf("const/int_%d", i), nil, []int64{int64(i)}))
}

// integers returns a vector of integers.
func (w *onnxWriter) integers(v ...int) string {
	name := "const/ints"
	wide := make([]int64, len(v))
	for i, x := range v {
		name += fmt.Sprintf("_%d", x)
		wide[i] = int64(x)
	}
	return w.constant(weights.FromInt64(name, []int{len(v)}, wide))
}

// feed adds what turns the model's input into the network's.
func (w *onnxWriter) feed(input ONNXInput, p backbone.Preprocessing) string {
	if input == ONNXPreprocessed {
		return onnxImages
	}
	x := onnxImages
	if p.BGR {
		x = w.node("preprocessing/bgr", "Gather", []string{x, w.integers(2, 1, 0)}, attrs{"axis", 1})
	}
	if input == ONNXUint8 {
		const float = 1 // in TensorProto.DataType
		x = w.node("preprocessing/float", "Cast", []string{x}, attrs{"to", float})
	}
	// (v/Range - Mean) / Std, with one rounding less.
	mean, std := make([]float32, 3), make([]float32, 3)
	for c := range 3 {
		mean[c], std[c] = float32(p.Mean[c]*p.Range), float32(p.Std[c]*p.Range)
	}
	perChannel := []int{1, 3, 1, 1}
	x = w.node("preprocessing/centered", "Sub", []string{x, w.constant(weights.FromFloat32("preprocessing.mean", perChannel, mean))}, nil)
	return w.node("preprocessing/scaled", "Div", []string{x, w.constant(weights.FromFloat32("preprocessing.std", perChannel, std))}, nil)
}

// network adds the steps of g. images is the graph's input, which has the name
// fed; the last value gets the name of the model's output.
func (w *onnxWriter) network(g *layers.Graph, steps []layers.Step, images *layers.Node, fed string) error {
	names := map[*layers.Node]string{images: fed}
	made := map[*layers.Node]bool{images: true}
	for _, s := range steps {
		made[s.Out] = true
	}
	// Parameters come first, so that no other value takes a parameter's name.
	for _, s := range steps {
		for _, n := range s.In {
			if _, known := names[n]; !made[n] && !known {
				names[n] = w.leaf(g, n)
			}
		}
	}
	for _, s := range steps {
		in := make([]string, len(s.In))
		for i, n := range s.In {
			in[i] = names[n]
		}
		names[s.Out] = w.step(s, in)
		if w.err != nil {
			return fmt.Errorf("node %q: %w", s.Name, w.err)
		}
	}
	last := &w.graph.Nodes[len(w.graph.Nodes)-1]
	last.Outputs[0] = onnxEmbeddings
	return nil
}

// leaf adds a parameter or a constant of g.
func (w *onnxWriter) leaf(g *layers.Graph, n *layers.Node) string {
	name, _, _ := strings.Cut(n.Name(), "#") // the graph numbers what is no parameter
	if p := g.ParamOf(n); p != nil {
		name = p.Name
	}
	if w.constants[name] {
		w.fail(fmt.Errorf("two inputs have the name %q", name))
		return ""
	}
	return w.constant(HostTensor(g.Engine(), name, g.Value(n)))
}
