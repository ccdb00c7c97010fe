package weights

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tinyONNX(t *testing.T) *ONNXModel {
	t.Helper()
	w, err := FromFloat32("w", []int{2}, []float32{1, -2})
	if err != nil {
		t.Fatal(err)
	}
	shape := []ONNXDim{{Name: "n"}, {Size: 2}}
	return &ONNXModel{
		Producer: "p", ProducerVersion: "1", Metadata: map[string]string{"b": "", "a": "x"},
		Graph: ONNXGraph{
			Name: "g", Initializers: []*Tensor{w},
			Inputs:  []ONNXValue{{Name: "x", DType: Float32, Shape: shape}},
			Outputs: []ONNXValue{{Name: "y", DType: Float32, Shape: shape}},
			Nodes: []ONNXNode{
				{Name: "s", Op: "Softmax", Inputs: []string{"x"}, Outputs: []string{"h"}, Attributes: []ONNXAttribute{{"axis", -1}}},
				{Name: "m", Op: "Mul", Inputs: []string{"h", "w"}, Outputs: []string{"y"}},
			},
		},
	}
}

// The bytes are those of onnx.proto's fields, put together by hand: a tag is
// field*8 + wire type (0 integer, 2 bytes).
func TestONNXBytesAreThoseOfTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.onnx")
	if err := WriteONNX(path, tinyONNX(t)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	field := func(number byte, parts ...string) string { // of bytes
		body := strings.Join(parts, "")
		return string([]byte{number<<3 | 2, byte(len(body))}) + body
	}
	minusOne := strings.Repeat("\xff", 9) + "\x01" // ten groups of seven bits
	softmax := field(1, field(1, "x"), field(2, "h"), field(3, "s"), field(4, "Softmax"),
		field(5, field(1, "axis"), "\x18"+minusOne, "\xa0\x01\x02"))
	mul := field(1, field(1, "h"), field(1, "w"), field(2, "y"), field(3, "m"), field(4, "Mul"))
	tensor := field(5, "\x08\x02", "\x10\x01", field(8, "w"), field(9, "\x00\x00\x80\x3f\x00\x00\x00\xc0"))
	value := func(number byte, name string) string {
		return field(number, field(1, name), field(2, field(1, "\x08\x01", field(2, field(1, field(2, "n")), field(1, "\x08\x02")))))
	}
	graph := field(7, softmax, mul, field(2, "g"), tensor, value(11, "x"), value(12, "y"))
	want := "\x08\x08" + field(2, "p") + field(3, "1") + graph + field(8, "\x10\x11") +
		field(14, field(1, "a"), field(2, "x")) + field(14, field(1, "b"))
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestONNXMistakesAreNamed(t *testing.T) {
	text, err := FromStrings("text", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	huge := *text
	huge.Name, huge.DType, huge.Shape, huge.data.nbytes = "huge", Float32, []int{1 << 30}, 4<<30
	for want, change := range map[string]func(g *ONNXGraph){
		`"m" uses "nowhere"`: func(g *ONNXGraph) { g.Nodes[1].Inputs[0] = "nowhere" },
		`"h", which nothing`: func(g *ONNXGraph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] },
		`name "w"`:           func(g *ONNXGraph) { g.Nodes[0].Outputs[0] = "w" },
		`output "z"`:         func(g *ONNXGraph) { g.Outputs[0].Name = "z" },
		`body`: func(g *ONNXGraph) {
			g.Nodes[0].Attributes[0].Value = &ONNXGraph{Name: "body", Outputs: []ONNXValue{{Name: "q"}}}
		},
		`"axis" is a float64`: func(g *ONNXGraph) { g.Nodes[0].Attributes[0].Value = 1.5 },
		`no type for`:         func(g *ONNXGraph) { g.Initializers = append(g.Initializers, text) },
		`less than 2 GiB`:     func(g *ONNXGraph) { g.Initializers = append(g.Initializers, &huge) },
	} {
		m := tinyONNX(t)
		change(&m.Graph)
		path := filepath.Join(t.TempDir(), "tiny.onnx")
		if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := WriteONNX(path, m); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want an error about %s that says %q", err, path, want)
		}
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, []byte("before")) {
			t.Errorf("%s: the file that was there holds %q (%v)", want, kept, err)
		}
	}
}
