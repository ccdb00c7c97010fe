package backbone_test

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

func TestFeaturesAreBroughtToALengthOrADeviation(t *testing.T) {
	eng := newEngine(t)
	x := []float32{3, 0, 4, 0, 1, 2, 3, 4}
	root30 := math.Sqrt(30)
	for spec, want := range map[string][]float64{
		"features:dim=4": {3, 0, 4, 0, 1, 2, 3, 4},
		// Lengths 5 and sqrt(30) become sqrt(4).
		"features:dim=4,norm=rows": {1.2, 0, 1.6, 0, 2 / root30, 4 / root30, 6 / root30, 8 / root30},
		// Means 2, 1, 1, 0 and variances 4, 4, 1, 1, as written below.
		"features:dim=4,norm=coordinates": {0.5, -0.5, 3, 0, -0.5, 0.5, 2, 4},
	} {
		net, err := backbone.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if width, ok := backbone.TakesRows(net); !ok || width != 4 || net.Channels() != 4 {
			t.Errorf("%s: rows of %d, %v, %d channels", spec, width, ok, net.Channels())
		}
		ps := layers.NewParams(eng, 1)
		g := layers.NewGraph(eng, ps)
		in := g.Input("x", 2, 4)
		out := net.Forward(g, in, backbone.Training())
		for name, v := range map[string][]float32{backbone.FeaturesMean: {2, 1, 1, 0}, backbone.FeaturesVar: {4, 4, 1, 1}} {
			if p := ps.Get(name); p != nil {
				if err := eng.Write(p.Value, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		g.Keep(out)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		if err := eng.Write(g.Value(in), x); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 8)
		if err := eng.Read(got, g.Value(out)); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Abs(float64(got[i])-want[i]) > 1e-4 {
				t.Errorf("%s: number %d is %v, want %v", spec, i, got[i], want[i])
			}
		}
		g.Close()
	}
}

func TestFeaturesOfAnotherLengthAreRefused(t *testing.T) {
	for spec, says := range map[string]string{
		"features:dim=0": "dim=0 is not a number of features", "features:dim=x": "dim=x is not", "features:norm=unit": "norm=unit (there is: none, rows, coordinates)",
		"features:pixels=half": `unknown option "pixels"`,
	} {
		if _, err := backbone.New(spec); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", spec, err, says)
		}
	}
	if spec, err := backbone.WithWidth("features:norm=rows", 8); err != nil || spec != "features:dim=8,norm=rows" {
		t.Errorf("features of 8 numbers are %q, %v", spec, err)
	}
	if _, err := backbone.WithWidth("features:dim=4", 8); err == nil || !strings.Contains(err.Error(), "takes rows of 4 numbers, these have 8") {
		t.Errorf("8 numbers for 4: %v", err)
	}
	if _, err := backbone.WithWidth("convnet", 8); err == nil || !strings.Contains(err.Error(), "takes images") {
		t.Errorf("rows for a network of images: %v", err)
	}
	backbone.Register("unsure-rows", func() (backbone.Backbone, error) {
		b, err := backbone.New("features:dim=4")
		return unsure{b}, err
	})
	if _, err := backbone.WithWidth("unsure-rows", 8); err == nil || err.Error() != "backbone unsure-rows takes rows of numbers and does not say how many: its Width must be 8 for these rows" {
		t.Errorf("rows for a network of a program's own that does not know their length: %v", err)
	}
}

// unsure takes rows of a length that it does not know.
type unsure struct{ backbone.Backbone }

func (unsure) Width() int { return 0 }
