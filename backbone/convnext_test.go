package backbone_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// Blocks are counted through all stages, as timm and torchvision do: with rate r block i of
// n skips an image with probability r i/(n-1).
func TestConvNeXtDropsPathsMoreOftenTowardsItsEnd(t *testing.T) {
	const images, rate, blocks = 200, 0.8, 18
	net, err := backbone.New("convnexttiny")
	if err != nil {
		t.Fatal(err)
	}
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	t.Cleanup(func() { g.Close() })
	x := g.Input("images", images, 3, 32, 32)
	outputs := map[string]*layers.Node{}
	net.Forward(g, x, backbone.Mode{DropPath: rate, Observe: func(block string, out *layers.Node) { outputs[block] = out }})
	for _, p := range ps.All() {
		if strings.HasSuffix(p.Name, ".layer_scale") { // where it starts a branch may be lost in rounding
			if err := eng.Write(p.Value, slices.Repeat([]float32{1}, p.Value.Size())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	pictures, r := make([]float32, g.Value(x).Size()), rand.New(rand.NewPCG(1, 2))
	for i := range pictures {
		pictures[i] = float32(r.NormFloat64())
	}
	if err := eng.Write(g.Value(x), pictures); err != nil {
		t.Fatal(err)
	}
	if err := g.DrawDropout(3, 1, 0); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	at := 0
	var before []float32
	for _, name := range net.Blocks() {
		value := g.Value(outputs[name])
		out := make([]float32, value.Size())
		if err := eng.Read(out, value); err != nil {
			t.Fatal(err)
		}
		if strings.Count(name, ".") == 2 {
			skipped, width := 0, len(out)/images
			for i := range images {
				if slices.Equal(out[i*width:(i+1)*width], before[i*width:(i+1)*width]) {
					skipped++
				}
			}
			p := rate * float64(at) / (blocks - 1)
			// Four deviations of a binomial distribution.
			if want := images * p; math.Abs(float64(skipped)-want) > 4*math.Sqrt(want*(1-p)) {
				t.Errorf("%s: %d of %d images are skipped, want about %.0f", name, skipped, images, want)
			}
			at++
		}
		before = out
	}
	if at != blocks {
		t.Errorf("%d blocks, want %d", at, blocks)
	}
}
