package backbone_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// Numbers of the papers and of timm, without classifiers.
func TestVisionTransformersHaveTheirPublishedSizes(t *testing.T) {
	eng := newEngine(t)
	for name, want := range map[string]int{
		"vitt16": 5717416 - 192*1000 - 1000, "vits16": 22050664 - 384*1000 - 1000, "vitb8": 86576872 - 768*1000 - 1000,
		"vitb32": 88224232 - 768*1000 - 1000, "vitl16": 304326632 - 1024*1000 - 1000,
		"dinos16": 21665664, "dinob8": 85807872, "dinov2s14": 22056192, "dinov2b14": 86579712, "dinov2s14reg4": 22058112 - 384,
		"clipb32": 87849216, "clipb16": 86192640, "openclipb32": 87849216, "clipl14": 303966208,
	} {
		net, err := backbone.New(name)
		if err != nil {
			t.Fatal(err)
		}
		depth := 12
		if strings.Contains(name, "l1") {
			depth = 24
		}
		got := 0
		for _, p := range wholeParams(t, eng, net, depth, net.Preprocessing().Size) {
			n := 1
			for _, d := range p.Shape {
				n *= d
			}
			got += n
		}
		if got != want {
			t.Errorf("%s: %d numbers, want %d", name, got, want)
		}
	}
}

func TestOptionsOfVisionTransformers(t *testing.T) {
	for spec, says := range map[string]string{
		"vits16:eps=0":             "eps=0 is not a number above 0",
		"vits16:eps=NaN":           "eps=NaN is not",
		"vits16:gelu=relu":         "gelu=relu (there is: erf, quick, tanh)",
		"vits16:positions=cubic":   "positions=cubic (there is: plain, offset, antialias, align_corners)",
		"vits16:grid=1000":         "grid=1000 is not a side of the table of positions from 1 to 256",
		"vits16:proj=false":        `unknown option "proj"`,
		"clipb32:proj=maybe":       "proj=maybe is neither true nor false",
		"resnet50:positions=plain": `unknown option "positions"`,
	} {
		if _, err := backbone.New(spec); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q in it", spec, err, says)
		}
	}
	tower, err := backbone.New("clipb16:proj=false,gelu=erf")
	if err != nil {
		t.Fatal(err)
	}
	if last := tower.Blocks()[len(tower.Blocks())-1]; tower.Channels() != 768 || last != "norm" || !slices.Contains(tower.Ignored(), "head.*") {
		t.Errorf("without projection: %d channels, ends at %s, ignores %q", tower.Channels(), last, tower.Ignored())
	}
	whole, err := backbone.New("clipb16")
	if err != nil {
		t.Fatal(err)
	}
	if last := whole.Blocks()[len(whole.Blocks())-1]; whole.Channels() != 512 || last != "head" {
		t.Errorf("with projection: %d channels, ends at %s", whole.Channels(), last)
	}
}

// The table of positions that is trained is the stored one, whatever the pictures' size.
func TestGradientsReachTheStoredTableOfPositions(t *testing.T) {
	eng := newEngine(t)
	net, err := backbone.New("dinos16:grid=5")
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range [][]int{{48, 48}, {80, 80}, {32, 112}} {
		ps := layers.NewParams(eng, 1)
		g := layers.NewGraph(eng, ps)
		y := backbone.WithDepth(net, 1).Forward(g, g.Input("images", 1, 3, side[0], side[1]), backbone.Mode{})
		seed := g.Fixed("seed", 1, y.Shape()...)
		g.Backward(g.Scale("twice", y, 2), seed)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		p := ps.Get("pos_embed")
		if got := p.Value.Shape(); !slices.Equal(got, []int{1, 26, 384}) || !slices.Equal(g.ParamGrad(p).Shape(), got) {
			t.Errorf("%v pixels: the table has shape %v, its gradient %v", side, got, g.ParamGrad(p).Shape())
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A network with registers, LayerScale and positions of another grid gives an image the
// same features alone and among others.
func TestABatchOfOneIsAsABatchOfThree(t *testing.T) {
	eng := newEngine(t)
	net, err := backbone.New("dinov2s14reg4")
	if err != nil {
		t.Fatal(err)
	}
	net = backbone.WithDepth(net, 2)
	ps := layers.NewParams(eng, 1)
	run := func(images []float32, batch int) []float32 {
		g := layers.NewGraph(eng, ps)
		x := g.Input("images", batch, 3, 56, 56)
		y := net.Forward(g, x, backbone.Mode{})
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for _, p := range ps.All() { // factors of LayerScale begin near 0
			if err := eng.Write(p.Value, generator{"batch"}.fill(p.Name, p.Value.Shape())); err != nil {
				t.Fatal(err)
			}
		}
		if err := eng.Write(g.Value(x), images); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		out := make([]float32, y.Shape().TotalSize())
		if err := eng.Read(out, g.Value(y)); err != nil {
			t.Fatal(err)
		}
		return out
	}
	images := generator{"batch"}.uniform("images", 3*3*56*56)
	all, one := run(images, 3), run(images[2*3*56*56:], 1)
	for i, v := range one {
		if d := v - all[2*len(one)+i]; d > 2e-5 || d < -2e-5 {
			t.Fatalf("number %d: %v alone, %v among three", i, v, all[2*len(one)+i])
		}
	}
}
