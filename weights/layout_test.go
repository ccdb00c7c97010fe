package weights

import (
	"slices"
	"strings"
	"testing"
)

func layoutFile(t *testing.T, names ...string) *File {
	t.Helper()
	var all []*Tensor
	for _, name := range names {
		all = append(all, vec(t, name, 2, 3))
	}
	return fileOf(t, all...)
}

func arranged(t *testing.T, f *File) *File {
	t.Helper()
	l := LayoutOf(f)
	if l == nil {
		t.Fatalf("%q have no layout", f.Names())
	}
	g, err := l.Arrange(f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestALayoutKeepsPrefixesAndRepeatsNumbers(t *testing.T) {
	const block = "state_dict/module.encoder.layers.encoder_layer_11."
	f := arranged(t, layoutFile(t, block+"ln_1.weight", block+"mlp.linear_2.bias", block+"mlp.0.bias",
		"state_dict/module.encoder.pos_embedding", "state_dict/module.conv_proj.weight", "state_dict/other", "epoch"))
	want := []string{
		"state_dict/module.blocks.11.norm1.weight", "state_dict/module.blocks.11.mlp.fc2.bias", "state_dict/module.blocks.11.mlp.fc1.bias",
		"state_dict/module.pos_embed", "state_dict/module.patch_embed.proj.weight", "state_dict/other", "epoch",
	}
	if got := f.Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	chunked := arranged(t, layoutFile(t, "cls_token", "patch_embed.proj.weight", "blocks.3.11.norm1.weight", "register_tokens", "mask_token"))
	if got, want := chunked.Names(), []string{"cls_token", "patch_embed.proj.weight", "blocks.11.norm1.weight", "reg_token"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if l := LayoutOf(layoutFile(t, "conv1.weight", "fc.weight")); l != nil {
		t.Errorf("a convolutional network has the layout of %s", l.Name)
	}
}

// The tower of texts has the names of that of images without the prefix.
func TestTheTowersOfCLIPStayApart(t *testing.T) {
	f := arranged(t, layoutFile(t, "positional_embedding", "transformer.resblocks.0.ln_1.weight", "visual.class_embedding",
		"visual.positional_embedding", "visual.transformer.resblocks.0.ln_1.weight", "visual.proj", "text_projection"))
	want := []string{"pos_embed", "blocks.0.norm1.weight", "visual.cls_token", "visual.pos_embed", "visual.blocks.0.norm1.weight", "visual.head.weight", "text_projection"}
	if got := f.Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	proj, err := f.Tensor("visual.head.weight")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proj.Float32(); err != nil || !slices.Equal(proj.Shape, []int{3, 2}) || got[1] != 3.5 || got[2] != 1.5 {
		t.Errorf("the projection turned has shape %v and numbers %v, %v", proj.Shape, got, err)
	}
	if pos, err := f.Tensor("visual.pos_embed"); err != nil || !slices.Equal(pos.Shape, []int{1, 2, 3}) {
		t.Errorf("positions %v, %v", pos, err)
	}
}

func TestQueriesKeysAndValuesAreJoinedInTheirOrder(t *testing.T) {
	const block = "vision_model.encoder.layers.0.self_attn."
	var all []*Tensor
	for i, name := range []string{"k", "v", "q"} {
		x := mustTensor(t, block+name+"_proj.bias", []int{1}, []float32{float32(i)})
		all = append(all, x)
	}
	all = append(all, vec(t, "vision_model.pre_layrnorm.weight", 2), vec(t, "text_model.x", 1), vec(t, "logit_scale", 1))
	f := arranged(t, fileOf(t, all...))
	if got, err := f.Float32("blocks.0.attn.qkv.bias"); err != nil || !slices.Equal(got, []float32{2, 0, 1}) {
		t.Errorf("joined: %v, %v", got, err)
	}
	if got := f.Names(); len(got) != 2 {
		t.Errorf("names %q", got)
	}
}

func TestFilesThatAreNotArranged(t *testing.T) {
	timm := []string{"cls_token", "patch_embed.proj.weight"}
	const clip = "vision_model.encoder.layers.0."
	for want, f := range map[string]*File{
		`it has the tensor "fc_norm.weight": the network averages its patches`:                             layoutFile(t, append(timm, "fc_norm.weight")...),
		`it has the tensor "module.dist_token": the network has a second class token`:                      layoutFile(t, append(timm, "module.dist_token")...),
		`it has the tensor "attn_pool.q.weight": the network joins its patches by an attention of its own`: layoutFile(t, append(timm, "attn_pool.q.weight")...),
		`the third of "blocks.0.attn.qkv.bias" that holds its values is missing`: layoutFile(t, "vision_model.pre_layrnorm.weight",
			clip+"self_attn.q_proj.bias", clip+"self_attn.k_proj.bias"),
		`"x.register_tokens" and "x.reg_token" are both called "x.reg_token"`: layoutFile(t, append(timm, "x.register_tokens", "x.reg_token")...),
		"they do not join": fileOf(t, vec(t, "vision_model.pre_layrnorm.weight", 2), vec(t, clip+"self_attn.q_proj.bias", 2),
			vec(t, clip+"self_attn.k_proj.bias", 2), vec(t, clip+"self_attn.v_proj.bias", 2, 2)),
		"want a matrix": fileOf(t, vec(t, "class_embedding", 2), vec(t, "transformer.resblocks.0.ln_1.weight", 2), vec(t, "proj", 2)),
	} {
		l := LayoutOf(f)
		if l == nil {
			t.Errorf("%q have no layout", f.Names())
			continue
		}
		if _, err := l.Arrange(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
