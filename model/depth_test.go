package model_test

import (
	"testing"

	"github.com/vernier-ml/vernier/model"
)

func TestLayersAreCountedFromTheEnd(t *testing.T) {
	for _, c := range []struct {
		net  string
		side int
		want map[string]int
	}{
		{"vitt32", 32, map[string]int{"patch_embed.proj.weight": 13, "cls_token": 13, "pos_embed": 13, "blocks.0.norm1.weight": 12, "blocks.11.mlp.fc2.bias": 1, "norm.weight": 0, "embedding.weight": 0}},
		{"resnet18", 32, map[string]int{"conv1.weight": 9, "bn1.weight": 9, "layer1.0.conv1.weight": 8, "layer4.1.bn2.bias": 1}},
		{"convnet", 32, map[string]int{"block1.conv.weight": 4, "block4.bn.weight": 1}},
		{"features:dim=4,norm=coordinates", 0, map[string]int{"features.mean": 0, "embedding.weight": 0}},
	} {
		spec, err := model.DefaultSpec(c.net)
		if err != nil {
			t.Fatal(err)
		}
		if c.side > 0 {
			spec.Input = spec.Input.WithSize(c.side)
		}
		m, err := model.New(newEngine(t), spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if p := m.Params.Get(name); p == nil || p.Depth != want {
				t.Errorf("%s: %s has depth %v, want %d", c.net, name, p, want)
			}
		}
	}
}
