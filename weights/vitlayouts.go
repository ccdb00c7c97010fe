package weights

// Layouts lists the layouts that are known, besides that of Google's vision transformers
// (GoogleViT). Vision transformers have timm's names here, ConvNeXt torchvision's.
func Layouts() []Layout {
	return []Layout{torchvisionViT(), transformersViT(), transformersDINOv2(), transformersCLIP(), clipTower(), timmViT(), timmConvNeXt(), facebookConvNeXt()}
}

// torchvisionViT also has the names of the MLP before torchvision 0.13.
func torchvisionViT() Layout {
	const block = "encoder.layers.encoder_layer_#."
	return Layout{Name: "torchvision's vision transformers", Marks: []string{block + "ln_1.weight", "encoder.pos_embedding"}, Rows: []Rename{
		{From: "class_token", To: "cls_token"},
		{From: "conv_proj.*", To: "patch_embed.proj.*"},
		{From: "encoder.pos_embedding", To: "pos_embed"},
		{From: block + "ln_1.*", To: "blocks.#.norm1.*"},
		{From: block + "self_attention.in_proj_*", To: "blocks.#.attn.qkv.*"},
		{From: block + "self_attention.out_proj.*", To: "blocks.#.attn.proj.*"},
		{From: block + "ln_2.*", To: "blocks.#.norm2.*"},
		{From: block + "mlp.0.*", To: "blocks.#.mlp.fc1.*"},
		{From: block + "mlp.3.*", To: "blocks.#.mlp.fc2.*"},
		{From: block + "mlp.linear_1.*", To: "blocks.#.mlp.fc1.*"},
		{From: block + "mlp.linear_2.*", To: "blocks.#.mlp.fc2.*"},
		{From: "encoder.ln.*", To: "norm.*"},
		{From: "heads.head.*", To: "head.*"},
	}}
}

// transformersBlock are the rows that ViT and DINOv2 of transformers have in common.
func transformersBlock() []Rename {
	const block = "encoder.layer.#."
	return []Rename{
		{From: "embeddings.cls_token", To: "cls_token"},
		{From: "embeddings.position_embeddings", To: "pos_embed"},
		{From: "embeddings.patch_embeddings.projection.*", To: "patch_embed.proj.*"},
		{From: block + "attention.attention.query.*", To: "blocks.#.attn.qkv.*", How: Rows0},
		{From: block + "attention.attention.key.*", To: "blocks.#.attn.qkv.*", How: Rows1},
		{From: block + "attention.attention.value.*", To: "blocks.#.attn.qkv.*", How: Rows2},
		{From: block + "attention.output.dense.*", To: "blocks.#.attn.proj.*"},
		{From: "layernorm.*", To: "norm.*"},
	}
}

func transformersViT() Layout {
	const block = "encoder.layer.#."
	return Layout{Name: "transformers' ViT", Marks: []string{block + "layernorm_before.weight"}, Rows: append(transformersBlock(),
		Rename{From: block + "layernorm_before.*", To: "blocks.#.norm1.*"},
		Rename{From: block + "layernorm_after.*", To: "blocks.#.norm2.*"},
		Rename{From: block + "intermediate.dense.*", To: "blocks.#.mlp.fc1.*"},
		Rename{From: block + "output.dense.*", To: "blocks.#.mlp.fc2.*"},
		Rename{From: "embeddings.mask_token"},
		Rename{From: "pooler.dense.*"},
		Rename{From: "classifier.*", To: "head.*"},
	)}
}

func transformersDINOv2() Layout {
	const block = "encoder.layer.#."
	return Layout{Name: "transformers' DINOv2", Marks: []string{block + "layer_scale1.lambda1"}, Rows: append(transformersBlock(),
		Rename{From: "embeddings.register_tokens", To: "reg_token"},
		Rename{From: "embeddings.mask_token"},
		Rename{From: block + "norm#.*", To: "blocks.#.norm#.*"},
		Rename{From: block + "mlp.*", To: "blocks.#.mlp.*"},
		Rename{From: block + "layer_scale#.lambda1", To: "blocks.#.ls#.gamma"},
		Rename{From: "classifier.*", To: "head.*"},
	)}
}

// transformersCLIP leaves out the tower of texts.
func transformersCLIP() Layout {
	const tower, block = "vision_model.", "vision_model.encoder.layers.#."
	return Layout{Name: "transformers' CLIP", Marks: []string{tower + "pre_layrnorm.weight"}, Rows: []Rename{
		{From: tower + "embeddings.class_embedding", To: "cls_token", How: Leading},
		{From: tower + "embeddings.patch_embedding.weight", To: "patch_embed.proj.weight"},
		{From: tower + "embeddings.position_embedding.weight", To: "pos_embed", How: Leading},
		{From: tower + "embeddings.position_ids"},
		{From: tower + "pre_layrnorm.*", To: "norm_pre.*"}, // so spelled
		{From: block + "self_attn.q_proj.*", To: "blocks.#.attn.qkv.*", How: Rows0},
		{From: block + "self_attn.k_proj.*", To: "blocks.#.attn.qkv.*", How: Rows1},
		{From: block + "self_attn.v_proj.*", To: "blocks.#.attn.qkv.*", How: Rows2},
		{From: block + "self_attn.out_proj.*", To: "blocks.#.attn.proj.*"},
		{From: block + "layer_norm#.*", To: "blocks.#.norm#.*"},
		{From: block + "mlp.*", To: "blocks.#.mlp.*"},
		{From: tower + "post_layernorm.*", To: "norm.*"},
		{From: "visual_projection.weight", To: "head.weight"},
		{From: "text_model.*"},
		{From: "text_projection.*"},
		{From: "logit_scale"},
	}}
}

// clipTower is of OpenAI's CLIP and OpenCLIP. The tower of images stands behind "visual.";
// that of texts has the same names without it, so that only those behind one prefix fit.
func clipTower() Layout {
	const block = "transformer.resblocks.#."
	return Layout{Name: "CLIP and OpenCLIP", Marks: []string{block + "ln_1.weight", "class_embedding"}, Rows: []Rename{
		{From: "class_embedding", To: "cls_token", How: Leading},
		{From: "conv1.weight", To: "patch_embed.proj.weight"},
		{From: "positional_embedding", To: "pos_embed", How: Leading},
		{From: "ln_pre.*", To: "norm_pre.*"},
		{From: block + "attn.in_proj_*", To: "blocks.#.attn.qkv.*"},
		{From: block + "attn.out_proj.*", To: "blocks.#.attn.proj.*"},
		{From: block + "ln_#.*", To: "blocks.#.norm#.*"},
		{From: block + "mlp.c_fc.*", To: "blocks.#.mlp.fc1.*"},
		{From: block + "mlp.c_proj.*", To: "blocks.#.mlp.fc2.*"},
		{From: "ln_post.*", To: "norm.*"},
		{From: "proj", To: "head.weight", How: Transposed},
	}}
}

// timmViT is of timm, DINO and DINOv2. Meta's training programs number blocks within chunks
// as they are numbered in all.
func timmViT() Layout {
	const (
		average = "the network averages its patches before a last normalization (timm's global_pool='avg'), and networks here take the class token after one: use a file of the same network with a class token"
		distill = "the network has a second class token, of DeiT's distillation, which networks here have not: use the file without distillation"
		pooling = "the network joins its patches by an attention of its own (timm's attn_pool), which networks here have not"
	)
	return Layout{Name: "timm, DINO or DINOv2", Marks: []string{"cls_token", "patch_embed.proj.weight"}, Rows: []Rename{
		{From: "blocks.%.#.*", To: "blocks.#.*"},
		{From: "register_tokens", To: "reg_token"},
		{From: "mask_token"},
		{From: "fc_norm.*", To: average, How: Refused},
		{From: "dist_token", To: distill, How: Refused},
		{From: "attn_pool.*", To: pooling, How: Refused},
	}}
}
