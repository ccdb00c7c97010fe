package model

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// tokens turns a map (B, D, H, W) into a sequence behind a prefix, plus positions.
func (w *onnxWriter) tokens(name string, in []string, shape []int, spec layers.TokensSpec) string {
	more := in[1:]
	last := func(also bool, part string) string { // the op's own name is for its last node
		if also {
			return name + "/" + part
		}
		return name
	}
	y := w.node(name+"/flat", "Reshape", []string{in[0], w.integers(0, shape[1], shape[2]*shape[3])}, nil)
	y = w.node(last(spec.Prefix || spec.Position, "sequence"), "Transpose", []string{y}, attrs{"perm", []int{0, 2, 1}})
	if spec.Prefix {
		batch := w.node(name+"/batch", "Shape", in[:1], attrs{"start", 0, "end", 1})
		times := w.node(name+"/repeats", "Concat", []string{batch, w.integers(1, 1)}, attrs{"axis", 0})
		prefix := w.node(name+"/prefix", "Expand", []string{more[0], times}, nil)
		y = w.node(last(spec.Position, "joined"), "Concat", []string{prefix, y}, attrs{"axis", 1})
		more = more[1:]
	}
	if spec.Position {
		y = w.node(name, "Add", []string{y, more[0]}, nil)
	}
	return y
}

// attention takes packed queries, keys and values (B, T, 3D) to shape (B, T, D).
func (w *onnxWriter) attention(name, qkv string, shape []int, spec engine.AttentionSpec) string {
	tokens, d := shape[1], shape[2]
	parts := w.multi(name+"/split", "Split", []string{qkv}, 3, attrs{"axis", 2})
	heads := func(part, x string, perm []int) string {
		x = w.node(name+"/"+part+"_heads", "Reshape", []string{x, w.integers(0, tokens, spec.Heads, d/spec.Heads)}, nil)
		return w.node(name+"/"+part, "Transpose", []string{x}, attrs{"perm", perm})
	}
	q := heads("q", parts[0], []int{0, 2, 1, 3}) // (B, heads, T, D/heads)
	k := heads("k", parts[1], []int{0, 2, 3, 1}) // (B, heads, D/heads, T)
	v := heads("v", parts[2], []int{0, 2, 1, 3})
	q = w.node(name+"/scaled", "Mul", []string{q, w.number(float64(spec.Scale))}, nil)
	scores := w.node(name+"/scores", "MatMul", []string{q, k}, nil)
	scores = w.node(name+"/softmax", "Softmax", []string{scores}, attrs{"axis", -1})
	y := w.node(name+"/mixed", "MatMul", []string{scores, v}, nil)
	y = w.node(name+"/tokens", "Transpose", []string{y}, attrs{"perm", []int{0, 2, 1, 3}})
	return w.node(name, "Reshape", []string{y, w.integers(0, tokens, d)}, nil)
}
