package losses

import (
	"maps"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// For every loss: the effective parameters name all there are, New takes them,
// and they are their own effective parameters.
func TestEffectiveParametersAreComplete(t *testing.T) {
	m := metric.Metric{Kind: metric.BRM, P: 2}
	infos, err := List(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		o := Options{Metric: m, Classes: 5, Dim: 8}
		got, err := Effective(info.Name, o)
		if err != nil {
			t.Errorf("%s: %v", info.Name, err)
			continue
		}
		for _, p := range info.Params {
			if _, ok := got[p.Name]; !ok {
				t.Errorf("%s: %s is missing", info.Name, p.Name)
			}
		}
		o.Params = got
		if _, err := New(info.Name, o); err != nil {
			t.Errorf("%s with %v: %v", info.Name, got, err)
		}
		if again, err := Effective(info.Name, o); err != nil || !maps.Equal(got, again) {
			t.Errorf("%s: %v becomes %v, %v", info.Name, got, again, err)
		}
	}
}

// 0.4 of the bound, which is 1.
func TestEffectiveMarginsAreNumbers(t *testing.T) {
	got, err := Effective("triplet", Options{Metric: metric.Metric{Kind: metric.BRM, P: 2}, Params: map[string]string{"margin": "0.4B"}})
	if err != nil || got["margin"] != "0.4" || got["mining"] != "all" {
		t.Errorf("got %v, %v", got, err)
	}
}
