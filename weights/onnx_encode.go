package weights

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers below are those of the fields and enumerations of onnx.proto, the
// schema that the format is defined by.

// encode returns a ModelProto.
func (m *ONNXModel) encode() (*onnxMessage, error) {
	graph, err := m.Graph.encode()
	if err != nil {
		return nil, err
	}
	w := &onnxMessage{}
	w.integer(1, onnxIR)
	w.text(2, m.Producer)
	w.text(3, m.ProducerVersion)
	w.text(6, m.Doc)
	w.message(7, graph)
	opset := &onnxMessage{} // OperatorSetIdProto of the standard operators
	opset.integer(2, ONNXOpset)
	w.message(8, opset)
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		entry := &onnxMessage{} // StringStringEntryProto
		entry.text(1, key)
		entry.text(2, m.Metadata[key])
		w.message(14, entry)
	}
	return w, nil
}

// encode returns a GraphProto.
func (g *ONNXGraph) encode() (*onnxMessage, error) {
	w := &onnxMessage{}
	for _, n := range g.Nodes {
		node, err := n.encode()
		if err != nil {
			return nil, fmt.Errorf("ONNX node %q: %w", n.Name, err)
		}
		w.message(1, node)
	}
	w.text(2, g.Name)
	for _, t := range g.Initializers {
		tensor, err := encodeONNXTensor(t)
		if err != nil {
			return nil, err
		}
		w.message(5, tensor)
	}
	for _, list := range []struct {
		field  protowire.Number
		values []ONNXValue
	}{{11, g.Inputs}, {12, g.Outputs}} {
		for _, v := range list.values {
			value, err := v.encode()
			if err != nil {
				return nil, err
			}
			w.message(list.field, value)
		}
	}
	return w, nil
}

// encode returns a NodeProto.
func (n *ONNXNode) encode() (*onnxMessage, error) {
	w := &onnxMessage{}
	for _, in := range n.Inputs {
		w.bytes(1, []byte(in)) // also an empty one, which holds a place
	}
	for _, out := range n.Outputs {
		w.bytes(2, []byte(out))
	}
	w.text(3, n.Name)
	w.text(4, n.Op)
	for _, a := range n.Attributes {
		attribute, err := a.encode()
		if err != nil {
			return nil, err
		}
		w.message(5, attribute)
	}
	return w, nil
}

// encode returns an AttributeProto.
func (a *ONNXAttribute) encode() (*onnxMessage, error) {
	const typeField = 20
	w := &onnxMessage{}
	w.text(1, a.Name)
	switch v := a.Value.(type) {
	case float32:
		w.float(2, v)
		w.integer(typeField, 1)
	case int:
		w.integer(3, int64(v))
		w.integer(typeField, 2)
	case string:
		w.bytes(4, []byte(v))
		w.integer(typeField, 3)
	case *ONNXGraph:
		body, err := v.encode()
		if err != nil {
			return nil, err
		}
		w.message(6, body)
		w.integer(typeField, 5)
	case []int:
		for _, i := range v {
			w.integer(8, int64(i))
		}
		w.integer(typeField, 7)
	default:
		return nil, fmt.Errorf("attribute %q is a %T, want int, float32, string, []int or *ONNXGraph", a.Name, v)
	}
	return w, nil
}

// encode returns a ValueInfoProto of a tensor.
func (v *ONNXValue) encode() (*onnxMessage, error) {
	element, err := onnxElement(v.DType)
	if err != nil {
		return nil, fmt.Errorf("ONNX value %q: %w", v.Name, err)
	}
	shape := &onnxMessage{}
	for _, d := range v.Shape {
		dim := &onnxMessage{}
		if d.Name != "" {
			dim.text(2, d.Name)
		} else {
			dim.integer(1, int64(d.Size))
		}
		shape.message(1, dim)
	}
	tensor := &onnxMessage{}
	tensor.integer(1, element)
	tensor.message(2, shape)
	kind := &onnxMessage{} // TypeProto
	kind.message(1, tensor)
	w := &onnxMessage{}
	w.text(1, v.Name)
	w.message(2, kind)
	return w, nil
}

// encodeONNXTensor returns a TensorProto.
func encodeONNXTensor(t *Tensor) (*onnxMessage, error) {
	element, err := onnxElement(t.DType)
	if err != nil {
		return nil, fmt.Errorf("ONNX initializer %q: %w", t.Name, err)
	}
	w := &onnxMessage{}
	for _, d := range t.Shape {
		w.integer(1, int64(d))
	}
	w.integer(2, element)
	w.text(8, t.Name)
	w.data(9, t)
	return w, nil
}

// onnxElement returns a TensorProto.DataType.
func onnxElement(d DType) (int64, error) {
	switch d {
	case Float32:
		return 1, nil
	case Uint8:
		return 2, nil
	case Int8:
		return 3, nil
	case Uint16:
		return 4, nil
	case Int16:
		return 5, nil
	case Int32:
		return 6, nil
	case Int64:
		return 7, nil
	case Bool:
		return 9, nil
	case Float16:
		return 10, nil
	case Float64:
		return 11, nil
	case Uint32:
		return 12, nil
	case Uint64:
		return 13, nil
	case Complex64:
		return 14, nil
	case Complex128:
		return 15, nil
	case BFloat16:
		return 16, nil
	}
	return 0, fmt.Errorf("version %d of the format has no type for %v", onnxIR, d)
}

// onnxMessage is an encoded protobuf message whose tensors are not in memory.
type onnxMessage struct {
	parts []onnxPart
	size  int64
}

// onnxPart is some bytes and then the numbers of a tensor, or none.
type onnxPart struct {
	bytes  []byte
	tensor *Tensor
}

// tail returns the bytes at the end, to be appended to.
func (w *onnxMessage) tail() *[]byte {
	if n := len(w.parts); n == 0 || w.parts[n-1].tensor != nil {
		w.parts = append(w.parts, onnxPart{})
	}
	return &w.parts[len(w.parts)-1].bytes
}

func (w *onnxMessage) add(encode func(b []byte) []byte) {
	b := w.tail()
	before := len(*b)
	*b = encode(*b)
	w.size += int64(len(*b) - before)
}

// header begins a field of size bytes.
func (w *onnxMessage) header(field protowire.Number, size int64) {
	w.add(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	})
}

func (w *onnxMessage) bytes(field protowire.Number, v []byte) {
	w.header(field, int64(len(v)))
	w.add(func(b []byte) []byte { return append(b, v...) })
}

// text leaves an empty string out.
func (w *onnxMessage) text(field protowire.Number, v string) {
	if v != "" {
		w.bytes(field, []byte(v))
	}
}

func (w *onnxMessage) integer(field protowire.Number, v int64) {
	w.add(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
	})
}

func (w *onnxMessage) float(field protowire.Number, v float32) {
	w.add(func(b []byte) []byte {
		return protowire.AppendFixed32(protowire.AppendTag(b, field, protowire.Fixed32Type), math.Float32bits(v))
	})
}

func (w *onnxMessage) message(field protowire.Number, m *onnxMessage) {
	w.header(field, m.size)
	for _, p := range m.parts {
		w.add(func(b []byte) []byte { return append(b, p.bytes...) })
		w.setTensor(p.tensor)
	}
}

func (w *onnxMessage) data(field protowire.Number, t *Tensor) {
	w.header(field, t.Size())
	w.setTensor(t)
}

func (w *onnxMessage) setTensor(t *Tensor) {
	if t != nil {
		w.tail()
		w.parts[len(w.parts)-1].tensor = t
		w.size += t.Size()
	}
}

// writeTo writes the message.
func (w *onnxMessage) writeTo(to io.Writer) error {
	for _, p := range w.parts {
		if _, err := to.Write(p.bytes); err != nil {
			return err
		}
		if p.tensor == nil {
			continue
		}
		if _, err := p.tensor.WriteTo(to); err != nil {
			return err
		}
	}
	return nil
}
