package backbone_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// smallest is the least convenient small side for every network here: 96 is a
// multiple of 32, and leaves Inception-V3 a map of one place.
const smallest = 96

// build adds a network of the specification to a graph and returns its blocks.
func build(t *testing.T, eng engine.Engine, spec string, batch, side int) (g *layers.Graph, x, out *layers.Node, blocks map[string][]int) {
	t.Helper()
	net, err := backbone.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	g = layers.NewGraph(eng, layers.NewParams(eng, 1))
	blocks = map[string][]int{}
	x = g.Input("images", batch, 3, side, side)
	out = net.Forward(g, x, backbone.Mode{Observe: func(block string, n *layers.Node) {
		if n != nil {
			blocks[block] = n.Shape()
		}
	}})
	if err := g.Err(); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return g, x, out, blocks
}

// imageNetworks are the backbones but for that which takes rows of numbers. A few vision
// transformers stand for all, which are one description.
func imageNetworks() []string {
	return slices.DeleteFunc(backbone.Names(), func(name string) bool {
		b, err := backbone.New(name)
		return name == backbone.FeaturesName || err == nil && b.Tokens() && !slices.Contains([]string{"vitt16", "vits16", "clipb32"}, name)
	})
}

func TestANetworkHasTheChannelsItSaysAtEveryEnd(t *testing.T) {
	eng := newEngine(t)
	for _, name := range imageNetworks() {
		whole, err := backbone.New(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _, out, blocks := build(t, eng, name, 1, smallest)
		axis := 1
		if whole.Tokens() {
			axis = 2
		}
		if got := out.Shape()[axis]; got != whole.Channels() {
			t.Errorf("%s: %d channels, says %d", name, got, whole.Channels())
		}
		if whole.Tokens() {
			continue
		}
		for _, b := range whole.Blocks() {
			cut, err := backbone.New(backbone.WithOption(name, "trunk-end", b))
			if err != nil {
				t.Fatal(err)
			}
			if got := blocks[b][1]; got != cut.Channels() {
				t.Errorf("%s to %s: %d channels, says %d", name, b, got, cut.Channels())
			}
			if last := cut.Blocks(); last[len(last)-1] != b {
				t.Errorf("%s to %s ends at %s", name, b, last[len(last)-1])
			}
		}
	}
}

// The maps are those of the papers and of torchvision; the numbers of values
// those that torchvision states, less the classifier.
func TestInceptionV3HasTheMapsAndTheSizeOfTheOriginal(t *testing.T) {
	g, _, out, blocks := build(t, newEngine(t), "inceptionv3", 1, 299)
	for block, want := range map[string][]int{
		"Conv2d_1a_3x3": {1, 32, 149, 149}, "Conv2d_2a_3x3": {1, 32, 147, 147}, "Conv2d_2b_3x3": {1, 64, 147, 147}, "maxpool1": {1, 64, 73, 73},
		"Conv2d_3b_1x1": {1, 80, 73, 73}, "Conv2d_4a_3x3": {1, 192, 71, 71}, "maxpool2": {1, 192, 35, 35}, "Mixed_5b": {1, 256, 35, 35}, "Mixed_5d": {1, 288, 35, 35},
		"Mixed_6a": {1, 768, 17, 17}, "Mixed_6e": {1, 768, 17, 17}, "Mixed_7a": {1, 1280, 8, 8}, "Mixed_7c": {1, 2048, 8, 8},
	} {
		if !slices.Equal(blocks[block], want) {
			t.Errorf("%s: %v, want %v", block, blocks[block], want)
		}
	}
	if want := []int{1, 2048, 8, 8}; !slices.Equal([]int(out.Shape()), want) {
		t.Errorf("output %v, want %v", out.Shape(), want)
	}
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	const published, classifier = 23834568, 2048*1000 + 1000
	if got := trained(t, "inceptionv3", 299); got != published-classifier {
		t.Errorf("%d trained values, want %d", got, published-classifier)
	}
}

func TestNetworksHaveTheirPublishedSizes(t *testing.T) {
	for name, want := range map[string]int{
		"resnet18":          11689512 - 512*1000 - 1000,
		"resnet34":          21797672 - 512*1000 - 1000,
		"resnet50":          25557032 - 2048*1000 - 1000,
		"resnet101":         44549160 - 2048*1000 - 1000,
		"resnet152":         60192808 - 2048*1000 - 1000,
		"convnexttiny":      28589128 - 768*1000 - 1000,
		"convnextsmall":     50223688 - 768*1000 - 1000,
		"convnextbase":      88591464 - 1024*1000 - 1000,
		"efficientnetlite0": 4652008 - 1280*1000 - 1000,
		"efficientnetlite1": 5416680 - 1280*1000 - 1000,
		"efficientnetlite2": 6092072 - 1280*1000 - 1000,
		"bninception":       11820040 - 1024*1000 - 1000 - 1024*512 - 512,
		"googlenet":         6624904 - 1024*1000 - 1000,
	} {
		if got := trained(t, name, 224); got != want {
			t.Errorf("%s: %d trained values, want %d", name, got, want)
		}
	}
}

// trained counts the trained values of a network.
func trained(t *testing.T, name string, side int) int {
	eng := newEngine(t)
	net, err := backbone.New(name)
	if err != nil {
		t.Fatal(err)
	}
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	net.Forward(g, g.Input("images", 1, 3, side, side), backbone.Mode{})
	n := 0
	for _, p := range ps.All() {
		if p.Role != layers.Buffer {
			n += p.Value.Size()
		}
	}
	return n
}

func TestAnImageGivesTheSameAloneAsInABatch(t *testing.T) {
	eng := newEngine(t)
	const batch = 3
	for _, name := range imageNetworks() {
		run := func(images []float32, n int) []float32 {
			g, x, out, _ := build(t, eng, name, n, smallest)
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if err := eng.Write(g.Value(x), images); err != nil {
				t.Fatal(err)
			}
			if err := g.Run(); err != nil {
				t.Fatal(err)
			}
			host := make([]float32, out.Shape().TotalSize())
			if err := eng.Read(host, g.Value(out)); err != nil {
				t.Fatal(err)
			}
			return host
		}
		r := rand.New(rand.NewPCG(1, 2))
		images := make([]float32, batch*3*smallest*smallest)
		for i := range images {
			images[i] = r.Float32()*2 - 1
		}
		all := run(images, batch)
		one := run(images[len(images)/batch*2:], 1)
		most, worst := 0., 0.
		for i, v := range one {
			most = max(most, math.Abs(float64(v)))
			worst = max(worst, math.Abs(float64(v-all[2*len(one)+i])))
		}
		if most == 0 || worst > 1e-5*most {
			t.Errorf("%s: off by %.3g, largest value %.3g", name, worst, most)
		}
	}
}

func TestCountPadChangesInceptionV3AtTheEdgesOnly(t *testing.T) {
	eng := newEngine(t)
	run := func(spec string) []float32 {
		g, x, out, _ := build(t, eng, spec, 1, 139) // maxpool2 is 15 x 15
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		images := make([]float32, x.Shape().TotalSize())
		r := rand.New(rand.NewPCG(3, 4))
		for i := range images {
			images[i] = r.Float32()
		}
		if err := eng.Write(g.Value(x), images); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		host := make([]float32, out.Shape().TotalSize())
		if err := eng.Read(host, g.Value(out)); err != nil {
			t.Fatal(err)
		}
		return host
	}
	with, without := run("inceptionv3:trunk-end=Mixed_5b"), run("inceptionv3:trunk-end=Mixed_5b,count-pad=false")
	side := 1
	for 256*side*side < len(with) {
		side++
	}
	edge := 0
	for i := range with {
		at := i % (side * side)
		inside := at/side > 0 && at/side < side-1 && at%side > 0 && at%side < side-1
		switch {
		case with[i] != without[i] && inside:
			t.Fatalf("number %d, inside the map: %v and %v", i, with[i], without[i])
		case with[i] != without[i]:
			edge++
		}
	}
	if edge == 0 {
		t.Error("the option changes nothing")
	}
}

func TestSpecificationsThatNameNoNetworkAreRefused(t *testing.T) {
	for spec, says := range map[string]string{
		"vgg":                             "bninception",
		"resnet50:trunk-end":              "name=value",
		"resnet50:trunk-end=":             "name=value",
		"resnet50:trunk-end=layer5":       "layer4.2",
		"resnet50:trunk-end=layer":        "layer4.2",
		"resnet50:count-pad=true":         "unknown option",
		"resnet50:pixels=gray":            "imagenet",
		"resnet50:bn-momentum=0":          "above 0",
		"resnet50:bn-momentum=NaN":        "above 0",
		"inceptionv3:count-pad=maybe":     "true nor false",
		"vits16:trunk-end=blocks.3":       "unknown option",
		"convnet:pixels=unit,pixels=half": "twice",
	} {
		_, err := backbone.New(spec)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", spec, err, says)
		}
	}
}

func TestATrunkEndsAtTheLastBlockOfAGroup(t *testing.T) {
	net, err := backbone.New("resnet50:trunk-end=layer3,pixels=unit")
	if err != nil {
		t.Fatal(err)
	}
	blocks := net.Blocks()
	if last := blocks[len(blocks)-1]; last != "layer3.5" || net.Channels() != 1024 {
		t.Errorf("ends at %s with %d channels", last, net.Channels())
	}
	if !slices.Contains(net.Ignored(), "layer4.0.*") || slices.Contains(net.Ignored(), "layer3.5.*") {
		t.Errorf("ignored: %q", net.Ignored())
	}
	if p := net.Preprocessing(); p.Mean != [3]float64{} || p.Std != [3]float64{1, 1, 1} || p.Size != 224 {
		t.Errorf("preprocessing %+v", p)
	}
}

func TestOddMapsThatBNInceptionCannotJoinAreAnError(t *testing.T) {
	eng := newEngine(t)
	net, err := backbone.New("bninception")
	if err != nil {
		t.Fatal(err)
	}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	net.Forward(g, g.Input("images", 1, 3, 80, 80), backbone.Mode{})
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "inception_4e") {
		t.Errorf("80 pixels: %v", err)
	}
}
