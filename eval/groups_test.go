package eval

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// On a line: a at 0, 1, 3; b at 1.5, 5; c alone at 9. Nearest: 0->1 right,
// 1->1.5 wrong, 3->1.5 wrong; 1.5->1 wrong, 5->3 wrong; 9 is lone.
func TestFiguresOfClassesAndSuperClassesAgreeWithThoseByHand(t *testing.T) {
	e := &Embeddings{X: []float32{0, 1, 3, 1.5, 5, 9}, N: 6, H: 1, Labels: []int{7, 7, 7, 8, 8, 9}}
	names := map[int]string{7: "a", 8: "b", 9: "c"}
	supers := map[int]string{7: "y", 8: "y", 9: "x"}
	f, err := Evaluate(context.Background(), hostEngine{}, e, metric.Metric{Kind: metric.Euclidean}, Options{
		Restarts: -1, PerClass: true, ClassName: func(l int) string { return names[l] }, Super: func(l int) string { return supers[l] },
	})
	if err != nil {
		t.Fatal(err)
	}
	// R = 2 for a: 0 sees 1, 1.5, so AP@2 = 1/2; 1 sees 1.5, 0, so 1/4; 3 sees
	// 1.5, then 1 and 5 tied at 2, the wrong one first, so 0. R = 1 for b: 0.
	for i, want := range []struct {
		name                string
		queries, lone       int
		recall, rPrec, map_ float64
	}{{"a", 3, 0, 100. / 3, 1. / 3, 0.25}, {"b", 2, 0, 0, 0, 0}} {
		g := f.PerClass[i]
		if g.Name != want.name || g.Queries != want.queries || g.LoneQueries != want.lone ||
			!near(g.RecallAt1, want.recall) || !near(g.PrecisionAt1, want.recall/100) || !near(g.RPrecision, want.rPrec) || !near(g.MAPAtR, want.map_) {
			t.Errorf("class %s: %+v %+v, want %+v", want.name, g, g.AverageFigures, want)
		}
	}
	if c := f.PerClass[2]; c.Name != "c" || c.Queries != 1 || c.LoneQueries != 1 || c.AverageFigures != nil {
		t.Errorf("the lone class: %+v", c)
	}
	s := f.SuperClasses
	if x, y := s.Groups[0], s.Groups[1]; x.Name != "x" || x.Classes != 1 || x.AverageFigures != nil ||
		y.Name != "y" || y.Classes != 2 || y.Queries != 5 || !near(y.RecallAt1, 20) || !near(y.MAPAtR, 0.15) {
		t.Errorf("super-classes %+v", s.Groups)
	}
	if !near(s.RecallAt1, 10) || !near(s.Mean.MAPAtR, 0.15) || !near(s.Mean.RPrecision, 0.2) {
		t.Errorf("mean of super-classes: recall %v, %+v", s.RecallAt1, s.Mean)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Figures
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.PerClass, f.PerClass) || !reflect.DeepEqual(back.SuperClasses, f.SuperClasses) {
		t.Errorf("JSON does not come back:\n%s", text)
	}
}

func TestCenterOfClustersIsReported(t *testing.T) {
	e := &Embeddings{X: []float32{0, 0.1, 0.2, 4, 4.1, 9}, N: 6, H: 1, Labels: []int{0, 0, 0, 1, 1, 1}}
	for want, m := range map[string]metric.Metric{"metric": {Kind: metric.BRM, Restriction: metric.Sigmoid, P: 2}, "mean": {Kind: metric.Euclidean}} {
		f, err := Evaluate(context.Background(), hostEngine{}, e, m, Options{Restarts: 1, Center: CenterOfMetric})
		if err != nil {
			t.Fatal(err)
		}
		if f.Clustering.Center != want {
			t.Errorf("%s: center %q, want %q", m, f.Clustering.Center, want)
		}
	}
	for _, c := range []CenterRule{CenterMean, CenterOfMetric} {
		if back, err := ParseCenterRule(c.String()); err != nil || back != c {
			t.Errorf("%v reads back as %v, %v", c, back, err)
		}
	}
	if _, err := ParseCenterRule("median"); err == nil || !strings.Contains(err.Error(), "mean or metric") {
		t.Errorf("median: %v", err)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
