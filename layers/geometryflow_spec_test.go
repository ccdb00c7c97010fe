package layers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
)

func TestFlowRefusesWhatMeansNothing(t *testing.T) {
	eng := reference.New()
	for says, change := range map[string]func(s *layers.FlowSpec){
		"lambda is -1":    func(s *layers.FlowSpec) { s.Lambda = -1 },
		"delta is 0":      func(s *layers.FlowSpec) { s.Delta = 0 },
		"eps is":          func(s *layers.FlowSpec) { s.Eps = math.Inf(1) },
		"0 components":    func(s *layers.FlowSpec) { s.Components = 0 },
		"variance is 2":   func(s *layers.FlowSpec) { s.Variance = 2 },
		`distance "city"`: func(s *layers.FlowSpec) { s.Distance = "city" },
		"not two batches": func(*layers.FlowSpec) {},
	} {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		spec := layers.DefaultFlow()
		change(&spec)
		g.GeometryFlow("flow", g.Input("x", 3, 1, 2, 2), g.Input("s", 4, 2), spec)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	f := clustered(1, 9, 3, 4, 3, 2)
	spec := layers.DefaultFlow()
	spec.Eps, spec.Negative, spec.Lambda = 50, true, 9
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x := g.Input("x", f.n, f.c, f.h, f.w)
	g.GeometryFlow("flow", x, g.Input("s", f.out...), spec)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := eng.Write(g.Value(x), f.x); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err == nil || !strings.Contains(err.Error(), "let weights end at 0") {
		t.Errorf("weights that add up to less than -1/lambda: %v", err)
	}
}

func TestFlowOptionsByName(t *testing.T) {
	var f layers.FlowSpec
	for _, o := range strings.Split(layers.DefaultFlow().String(), ",") {
		name, value, _ := strings.Cut(o, "=")
		if err := f.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	if f != layers.DefaultFlow() {
		t.Errorf("%+v after its own text", f)
	}
	for text, says := range map[string]string{"eps=0": "want auto|NUMBER", "own=perhaps": "want include|exclude", "k=3": `unknown option "k"`, "delta=x": "want NUMBER"} {
		name, value, _ := strings.Cut(text, "=")
		if err := f.Set(name, value); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if len(layers.FlowOptions()) != strings.Count(f.String(), "=") {
		t.Errorf("%+v", layers.FlowOptions())
	}
}
