package weights

import "fmt"

// timmConvNeXt has the names that timm gives ConvNeXt, those here being torchvision's.
func timmConvNeXt() Layout {
	l := Layout{Name: "timm's ConvNeXt", Marks: []string{"stages.#.blocks.#.conv_dw.weight"}, Rows: []Rename{
		{From: "stem.*", To: "features.0.*"},
		{From: "head.norm.*", To: "classifier.0.*"},
		{From: "head.fc.*", To: "classifier.2.*"},
	}}
	for stage := range 4 {
		from, to := fmt.Sprintf("stages.%d.", stage), fmt.Sprintf("features.%d.#.", 2*stage+1)
		l.Rows = append(l.Rows,
			Rename{From: from + "downsample.*", To: fmt.Sprintf("features.%d.*", 2*stage)},
			Rename{From: from + "blocks.#.gamma", To: to + "layer_scale"},
			Rename{From: from + "blocks.#.conv_dw.*", To: to + "block.0.*"},
			Rename{From: from + "blocks.#.norm.*", To: to + "block.2.*"},
			Rename{From: from + "blocks.#.mlp.fc1.*", To: to + "block.3.*"},
			Rename{From: from + "blocks.#.mlp.fc2.*", To: to + "block.5.*"},
		)
	}
	return l
}

// facebookConvNeXt has the names of the authors.
func facebookConvNeXt() Layout {
	l := Layout{Name: "the authors' ConvNeXt", Marks: []string{"stages.#.#.dwconv.weight"}}
	for stage := range 4 {
		from, to := fmt.Sprintf("stages.%d.#.", stage), fmt.Sprintf("features.%d.#.", 2*stage+1)
		l.Rows = append(l.Rows,
			Rename{From: fmt.Sprintf("downsample_layers.%d.*", stage), To: fmt.Sprintf("features.%d.*", 2*stage)},
			Rename{From: from + "gamma", To: to + "layer_scale"},
			Rename{From: from + "dwconv.*", To: to + "block.0.*"},
			Rename{From: from + "norm.*", To: to + "block.2.*"},
			Rename{From: from + "pwconv1.*", To: to + "block.3.*"},
			Rename{From: from + "pwconv2.*", To: to + "block.5.*"},
		)
	}
	// Behind those of blocks, whose names end so too.
	l.Rows = append(l.Rows, Rename{From: "norm.*", To: "classifier.0.*"}, Rename{From: "head.*", To: "classifier.2.*"})
	return l
}
