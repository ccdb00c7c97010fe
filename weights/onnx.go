package weights

import (
	"bufio"
	"fmt"
	"math"
)

// ONNXOpset is the version of the operators that an ONNXModel is written for.
const ONNXOpset = 17

// onnxIR is the version of the file format that came with these operators.
const onnxIR = 8

// ONNXModel is a network in the Open Neural Network Exchange format: operators
// by name, from inputs to outputs, with their constants.
type ONNXModel struct {
	Producer, ProducerVersion string
	Doc                       string
	Metadata                  map[string]string
	Graph                     ONNXGraph
}

// ONNXGraph is a sequence of nodes, each of which uses inputs, initializers and
// outputs of earlier nodes; as an attribute of a node also what the node itself
// could use.
type ONNXGraph struct {
	Name            string
	Inputs, Outputs []ONNXValue
	Initializers    []*Tensor
	Nodes           []ONNXNode
}

// ONNXValue is an input or output of a graph.
type ONNXValue struct {
	Name  string
	DType DType
	Shape []ONNXDim
}

// ONNXDim is a size, or a name that stands for a size known when the network runs.
type ONNXDim struct {
	Name string // if not empty, Size does not count
	Size int
}

// ONNXNode is an operator of the standard set.
type ONNXNode struct {
	Name, Op        string
	Inputs, Outputs []string // an empty name is an optional input left out
	Attributes      []ONNXAttribute
}

// ONNXAttribute is a named constant of a node: an int, a float32, a string, an
// []int or an *ONNXGraph.
type ONNXAttribute struct {
	Name  string
	Value any
}

// WriteONNX writes a model; its tensors become initializers of their own type
// and bytes. The same model gives the same bytes, and the file appears whole or
// not at all.
//
// Names that are used but not defined, or defined twice, are errors, as is a
// model of 2 GiB or more, which the format cannot hold in one file.
func WriteONNX(path string, m *ONNXModel) error {
	fail := func(err error) error { return fmt.Errorf("weights: writing %s: %w", path, err) }
	if err := m.Graph.check(nil); err != nil {
		return fail(err)
	}
	w, err := m.encode()
	if err != nil {
		return fail(err)
	}
	if w.size > math.MaxInt32 {
		return fail(fmt.Errorf("the model takes %d bytes; an ONNX file holds less than 2 GiB (%d bytes)", w.size, int64(math.MaxInt32)+1))
	}
	f, err := newPending(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	if err := w.writeTo(b); err != nil {
		f.discard()
		return f.fail(err)
	}
	if err := b.Flush(); err != nil {
		f.discard()
		return f.fail(err)
	}
	return f.commit()
}

// check looks at the names of a graph; outer are those of the graph around it.
func (g *ONNXGraph) check(outer map[string]bool) error {
	known := map[string]bool{}
	for name := range outer {
		known[name] = true
	}
	define := func(name, where string) error {
		if name == "" || known[name] {
			return fmt.Errorf("ONNX graph %q: %s defines the name %q, which is empty or taken", g.Name, where, name)
		}
		known[name] = true
		return nil
	}
	for _, v := range g.Inputs {
		if err := define(v.Name, "an input"); err != nil {
			return err
		}
	}
	for _, t := range g.Initializers {
		if err := define(t.Name, "an initializer"); err != nil {
			return err
		}
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if in != "" && !known[in] {
				return fmt.Errorf("ONNX graph %q: node %q uses %q, which nothing before it defines", g.Name, n.Name, in)
			}
		}
		for _, a := range n.Attributes {
			if body, ok := a.Value.(*ONNXGraph); ok {
				if err := body.check(known); err != nil {
					return err
				}
			}
		}
		for _, out := range n.Outputs {
			if err := define(out, fmt.Sprintf("node %q", n.Name)); err != nil {
				return err
			}
		}
	}
	for _, v := range g.Outputs {
		if !known[v.Name] {
			return fmt.Errorf("ONNX graph %q: nothing defines its output %q", g.Name, v.Name)
		}
	}
	return nil
}
