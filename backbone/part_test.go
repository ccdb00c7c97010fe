package backbone_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// output runs a part of a network on values of the given shape.
func output(t *testing.T, b backbone.Backbone, ps *layers.Params, mode backbone.Mode, in []float32, shape []int) ([]float32, []int) {
	t.Helper()
	g := layers.NewGraph(ps.Engine(), ps)
	x := g.Input("x", shape...)
	y := b.Forward(g, x, mode)
	g.Keep(y)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := ps.Engine().Write(g.Value(x), in); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, y.Shape().TotalSize())
	if err := ps.Engine().Read(out, g.Value(y)); err != nil {
		t.Fatal(err)
	}
	return out, y.Shape().Clone()
}

func TestANetworkInTwoPartsIsTheWholeNetwork(t *testing.T) {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for _, c := range []struct {
		spec, at string
		side     int
	}{{"convnet", "block2", 16}, {"convnet", "block4", 16}, {"vits16", "tokens", 32}, {"vits16", "blocks.3", 32}, {"inceptionv3:trunk-end=Mixed_5b", "maxpool2", 80}} {
		b, err := backbone.New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		ps := layers.NewParams(eng, 3)
		shape := []int{2, 3, c.side, c.side}
		images := make([]float32, 2*3*c.side*c.side)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range images {
			images[i] = float32(r.NormFloat64())
		}
		want, _ := output(t, b, ps, backbone.Mode{}, images, shape)
		middle, at := output(t, b, ps, backbone.Mode{To: c.at}, images, shape)
		got, _ := output(t, b, ps, backbone.Mode{From: c.at}, middle, at)
		if !slices.Equal(got, want) {
			t.Errorf("%s in two parts, after %s, gives other numbers", c.spec, c.at)
		}
	}
}

func TestFindBlock(t *testing.T) {
	b, err := backbone.New("resnet50")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := backbone.FindBlock(b, "layer3"); err != nil || got != "layer3.5" {
		t.Errorf("layer3 is %q, %v", got, err)
	}
	if got, err := backbone.FindBlock(b, "layer3.2"); err != nil || got != "layer3.2" {
		t.Errorf("layer3.2 is %q, %v", got, err)
	}
	for _, name := range []string{"layer", "", "layer9"} {
		if _, err := backbone.FindBlock(b, name); err == nil || !strings.Contains(err.Error(), "layer4.2") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
