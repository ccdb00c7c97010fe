package backbone_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// flows returns the names of the layers that a network of two images has, and
// what building it complained about.
func flows(t *testing.T, spec, flow string, side int) ([]string, error) {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	b, err := backbone.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	f, err := backbone.ParseFlow(flow)
	if err != nil {
		t.Fatal(err)
	}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	b.Forward(g, g.Input("images", 2, 3, side, side), backbone.Mode{Flow: f})
	var names []string
	for _, s := range g.Flows() {
		names = append(names, s.Name)
	}
	return names, g.Err()
}

func TestFlowFollowsTheChosenConvolutions(t *testing.T) {
	for _, c := range []struct {
		spec, flow string
		side       int
		want       string
	}{
		{"convnet", "default", 16, "block1.conv.flow block2.conv.flow"},
		{"bninception:trunk-end=inception_3a", "default", 64, "conv1_7x7_s2.flow conv2_3x3_reduce.flow"},
		{"bninception:trunk-end=inception_3a", "after=conv2_3x3+inception_3a_double_3x3_2", 64, "conv2_3x3.flow inception_3a_double_3x3_2.flow"},
		{"resnet50:trunk-end=layer1", "after=4", 64, "conv1.flow layer1.0.conv1.flow layer1.0.conv2.flow layer1.0.conv3.flow"},
		{"inceptionv3:trunk-end=Mixed_5b", "after=1,lambda=0.2", 80, "Conv2d_1a_3x3.conv.flow"},
		{"googlenet:trunk-end=maxpool2", "default", 64, "conv1.conv.flow conv2.conv.flow"},
	} {
		names, err := flows(t, c.spec, c.flow, c.side)
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s with %s: %q, %v; want %q", c.spec, c.flow, got, err, c.want)
		}
	}
	for flow, says := range map[string]string{"after=conv9": "after=conv9 is no convolution with an activation (there is: block1.conv", "after=5": "the network has 4 convolutions"} {
		if _, err := flows(t, "convnet", flow, 16); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", flow, err)
		}
	}
}

func TestFlowReadsItsOwnText(t *testing.T) {
	for _, text := range []string{"default", "after=3", "after=a.conv+b,lambda=0.25,curvature=false,eps=2,empty=orthogonal"} {
		f, err := backbone.ParseFlow(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := backbone.ParseFlow(f.String())
		if err != nil || again.FlowSpec != f.FlowSpec || again.First != f.First || !slices.Equal(again.After, f.After) {
			t.Errorf("%s: %+v, read back as %+v, %v", text, f, again, err)
		}
	}
	for text, says := range map[string]string{
		"":                    "neither name=value nor",
		"on":                  "neither name=value nor",
		"strength=1":          `unknown option "strength" (there is: after, lambda`,
		"lambda=0.1,lambda=1": "lambda is given twice",
		"after=0":             "after=0, want the number",
		"lambda=-1":           "lambda is -1",
		"distance=cosine":     "distance=cosine, want mean|max",
	} {
		if _, err := backbone.ParseFlow(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
