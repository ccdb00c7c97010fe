package weights

import (
	"strings"
	"testing"
)

// vitFile is the golden file with one tensor replaced (nil: removed) or added.
func vitFile(t *testing.T, name string, x *Tensor) *File {
	t.Helper()
	f, err := openBytes("vit.npz", goldenFile(t, "vit_google.npz"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*Tensor
	found := false
	for _, o := range f.Tensors() {
		if o.Name != name {
			all = append(all, o)
			continue
		}
		found = true
		if x != nil {
			all = append(all, x)
		}
	}
	if !found && x != nil {
		all = append(all, x)
	}
	return fileOf(t, all...)
}

func TestVisionTransformersThatDoNotConvert(t *testing.T) {
	const block0 = "Transformer/encoderblock_0/"
	for want, f := range map[string]*File{
		"no tensor \"cls\"":                     vitFile(t, "cls", nil),
		"no tensor \"" + block0 + "MlpBlock_3/": vitFile(t, block0+"MlpBlock_3/Dense_1/bias", nil),
		"4 dimensions are expected":             vitFile(t, "embedding/kernel", vec(t, "embedding/kernel", 6, 6)),
		"different types or widths":             vitFile(t, block0+"MultiHeadDotProductAttention_1/key/kernel", vec(t, block0+"MultiHeadDotProductAttention_1/key/kernel", 5, 2, 3)),
		"no place for \"conv_root/kernel\"":     vitFile(t, "conv_root/kernel", vec(t, "conv_root/kernel", 1)),
		"not a vision transformer by Google":    fileOf(t, vec(t, "conv1.weight", 2)),
	} {
		if _, err := GoogleViT(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if IsGoogleViT(fileOf(t, vec(t, "conv1.weight", 2))) || !IsGoogleViT(vitFile(t, "", nil)) {
		t.Error("IsGoogleViT")
	}
}

func TestVisionTransformerBehindAPrefixAndWithoutHead(t *testing.T) {
	f := vitFile(t, "", nil)
	var all []*Tensor
	for _, x := range f.Tensors() {
		if strings.HasPrefix(x.Name, "head/") {
			continue
		}
		y := *x
		y.Name = "opt/target/" + x.Name
		all = append(all, &y)
	}
	all = append(all, vec(t, "opt/state/step", 1), vec(t, "opt/target/pre_logits/kernel", 6, 4), vec(t, "opt/target/pre_logits/bias", 4))
	g, err := GoogleViT(fileOf(t, all...))
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Join(g.Names(), " ")
	if strings.Contains(names, "head") || !strings.Contains(names, "pre_logits.fc.weight") || !strings.Contains(names, "blocks.0.attn.qkv.weight") {
		t.Error(names)
	}
	// (6,4) row-major transposed to (4,6).
	got, err := g.Float32("pre_logits.fc.weight")
	if err != nil || got[1] != 4.5 || got[6] != 1.5 {
		t.Errorf("%v, %v", got, err)
	}
}
