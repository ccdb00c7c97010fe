package weights

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// The files are by testdata/torchscript/make.py, which prints the sums: a network with the
// names of OpenAI's CLIP, saved by torch.jit.save of torch 2.15 after torch.jit.script, with
// half of it in fp16 as that is, and after torch.jit.trace.
func TestTensorsOfTorchScriptArchives(t *testing.T) {
	p, err := os.ReadFile("testdata/torchscript/clip.pt")
	if err != nil {
		t.Fatal(err)
	}
	f, err := openBytes("clip.pt", p)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format() != FormatTorchScript || f.Values()["note"] != "text" || f.Values()["k"] != int64(3) || len(f.Values()) != 2 {
		t.Errorf("format %s, values %v", f.Format(), f.Values())
	}
	const block = "visual.transformer.resblocks.0."
	for name, want := range map[string]struct {
		dtype DType
		shape []int
		sum   float64
	}{
		"logit_scale":                 {Float32, []int{}, 1},
		"input_resolution":            {Int64, []int{}, 4},
		"visual.class_embedding":      {Float32, []int{4}, -0.36279094219207764},
		"visual.positional_embedding": {Float32, []int{5, 4}, -2.1710791625082493},
		"visual.proj":                 {Float16, []int{4, 3}, 0.291259765625},
		"visual.conv1.weight":         {Float16, []int{4, 3, 2, 2}, -0.10101318359375},
		block + "attn.in_proj_weight": {Float16, []int{12, 4}, 7.218414306640625},
		block + "attn.out_proj.bias":  {Float16, []int{4}, 0.301513671875},
		block + "ln_1.weight":         {Float32, []int{4}, 4},
		block + "mlp.c_proj.weight":   {Float16, []int{4, 8}, -1.0455741882324219},
		"visual.ln_post.bias":         {Float32, []int{4}, 0},
	} {
		x, err := f.Tensor(name)
		if err != nil {
			t.Error(err)
			continue
		}
		values, err := x.Float32()
		if err != nil {
			t.Error(err)
		}
		sum := 0.
		for _, v := range values {
			sum += float64(v)
		}
		if x.DType != want.dtype || !slices.Equal(x.Shape, want.shape) || math.Abs(sum-want.sum) > 1e-6 {
			t.Errorf("%s: %v %v with sum %v, want %v %v with %v", name, x.DType, x.Shape, sum, want.dtype, want.shape, want.sum)
		}
	}
	if n := len(f.Names()); n != 24 {
		t.Errorf("%d tensors, want 24: %q", n, f.Names())
	}
	l := LayoutOf(f)
	if l == nil {
		t.Fatal("no layout")
	}
	g, err := l.Arrange(f)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := g.Tensor("visual.head.weight"); err != nil || !slices.Equal(x.Shape, []int{3, 4}) {
		t.Errorf("projection %v, %v", x, err)
	}
	traced, err := os.ReadFile("testdata/torchscript/traced.pt")
	if err != nil {
		t.Fatal(err)
	}
	h, err := openBytes("traced.pt", traced)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Float32("visual.transformer.resblocks.0.ln_2.weight"); err != nil || h.Format() != FormatTorchScript {
		t.Errorf("traced: %s, %v", h.Format(), err)
	}
}

// What an attack needs is refused in such archives as in others, and the program inside is
// not looked at.
func TestTorchScriptRunsNothing(t *testing.T) {
	for what, pickle := range map[string]string{
		"os.system":     "cos\nsystem\n(S'true'\ntR.",
		"builtins.eval": "c__builtin__\neval\n(S'1'\ntR.",
	} {
		p := zipOf(t, 0, "a/data.pkl", pickle, "a/constants.pkl", "(t.", "a/code/__torch__.py", "import os")
		if err := readAll("x.pt", p); err == nil || !strings.Contains(err.Error(), "nothing was executed") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A module that is part of itself.
	loop := "c__torch__\nM\nq\x00)\x81q\x01}(X\x01\x00\x00\x00ah\x01ub."
	p := zipOf(t, 0, "a/data.pkl", loop, "a/constants.pkl", "(t.")
	if err := readAll("x.pt", p); err == nil || !strings.Contains(err.Error(), "nested more than 64 levels") {
		t.Errorf("a module in itself: %v", err)
	}
}
