package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

// A file with torchvision's names fills a transformer, and it is said whose names they are.
func TestAFileInAnotherLayoutFillsTheNetwork(t *testing.T) {
	tv := weights.Layouts()[0]
	back := weights.Layout{}
	for _, r := range tv.Rows {
		back.Rows = append(back.Rows, weights.Rename{From: r.To, To: r.From})
	}
	spec := features(t, "vitt32", 32)
	m := newModel(t, spec, 1)
	path := public(t, m, func(x *weights.Tensor) *weights.Tensor {
		_, x.Name, _ = back.Rename(x.Name)
		x.Name = "state_dict." + x.Name
		return x
	})
	again := newModel(t, spec, 2)
	l, err := again.LoadWeights(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if l.Layout != tv.Name || l.Prefix != "state_dict." || len(l.Resized)+len(l.Ignored) != 0 {
		t.Errorf("loaded %+v", l)
	}
	for _, p := range m.Params.All() {
		if !slices.Equal(values(t, m, p.Name), values(t, again, p.Name)) {
			t.Errorf("%s differs", p.Name)
		}
	}
}

// Names that no network of this package has may be those of a program's own.
func TestANetworkOfAProgramsOwnMayHaveTheNamesOfALayout(t *testing.T) {
	pixels, err := backbone.PixelRange("half")
	if err != nil {
		t.Fatal(err)
	}
	backbone.Register("averaging", func() (backbone.Backbone, error) {
		return backbone.TokenSequence(pixels.WithSize(8), backbone.Block{Name: "all", Channels: 4, Add: func(b *backbone.Builder, x *layers.Node) *layers.Node {
			y := b.Graph.ConvModule("patch_embed.proj", x, 4, engine.SquareConv(4, 4, 0), true)
			y = b.Graph.TokensModule("tokens", y, layers.Tokenizer{Class: "cls_token", Position: "pos_embed"})
			return b.Graph.LayerNormModule("fc_norm", y, 1e-6)
		}})
	})
	spec := features(t, "averaging", 8)
	m := newModel(t, spec, 1)
	path := public(t, m, func(x *weights.Tensor) *weights.Tensor { return x })
	if l, err := newModel(t, spec, 2).LoadWeights(path, ""); err != nil || l.Layout != "" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := newModel(t, features(t, "vitt32", 32), 2).LoadWeights(path, ""); err == nil || !strings.Contains(err.Error(), "the network averages its patches") {
		t.Errorf("in a network of this package: %v", err)
	}
}

func TestPathsAreDroppedWhereThereAreSome(t *testing.T) {
	if s := features(t, "convnexttiny", 32); func() error { s.DropPath = .1; return s.Validate() }() != nil {
		t.Error("ConvNeXt has paths to drop")
	}
	for want, change := range map[string]func(s *model.Spec){
		"drop path 1 is not a share":            func(s *model.Spec) { s.DropPath = 1 },
		"backbone convnet has no paths to drop": func(s *model.Spec) { *s = features(t, "convnet", 32); s.DropPath = .1 },
	} {
		s := features(t, "vitt32", 32)
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
