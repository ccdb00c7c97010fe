package model

import (
	"math"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// onnxFields are the fields of a message by their numbers, each in order: []byte,
// uint64 or float32. It knows nothing of the schema.
type onnxFields map[protowire.Number][]any

func parseFields(t *testing.T, b []byte) onnxFields {
	t.Helper()
	fields := onnxFields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("not a protobuf message: %v", protowire.ParseError(n))
		}
		b = b[n:]
		var value any
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			value = math.Float32frombits(bits)
		default:
			t.Fatalf("field %d has wire type %d, which ONNX does not need", number, kind)
		}
		if n < 0 {
			t.Fatalf("field %d: %v", number, protowire.ParseError(n))
		}
		b = b[n:]
		fields[number] = append(fields[number], value)
	}
	return fields
}

func (f onnxFields) text(number protowire.Number) string {
	if len(f[number]) == 0 {
		return ""
	}
	return string(f[number][0].([]byte))
}

func (f onnxFields) texts(number protowire.Number) (list []string) {
	for _, v := range f[number] {
		list = append(list, string(v.([]byte)))
	}
	return list
}

func (f onnxFields) integers(number protowire.Number) (list []int) {
	for _, v := range f[number] {
		list = append(list, int(v.(uint64)))
	}
	return list
}

func (f onnxFields) messages(t *testing.T, number protowire.Number) (list []onnxFields) {
	for _, v := range f[number] {
		list = append(list, parseFields(t, v.([]byte)))
	}
	return list
}

// readONNX reads a file by the field numbers of onnx.proto: graph is
// ModelProto.graph.
func readONNX(t *testing.T, path string) (model, graph onnxFields, metadata map[string]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	model = parseFields(t, b)
	metadata = map[string]string{}
	for _, e := range model.messages(t, 14) {
		metadata[e.text(1)] = e.text(2)
	}
	return model, model.messages(t, 7)[0], metadata
}

// onnxShape returns name, element type and shape of a ValueInfoProto; a free
// dimension is its name.
func onnxShape(t *testing.T, v onnxFields) (name string, element int, dims []any) {
	t.Helper()
	tensor := v.messages(t, 2)[0].messages(t, 1)[0]
	for _, d := range tensor.messages(t, 2)[0].messages(t, 1) {
		if free := d.text(2); free != "" {
			dims = append(dims, free)
		} else {
			dims = append(dims, d.integers(1)[0])
		}
	}
	return v.text(1), tensor.integers(1)[0], dims
}
