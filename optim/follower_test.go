package optim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// By hand: a copy of 1 behind 3 with momentum 0.9 becomes 1.2, then 1.38; one behind the same
// value keeps its bits.
func TestACopyFollowsByItsMomentum(t *testing.T) {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	ps := layers.NewParams(eng, 1)
	for name, v := range map[string][]float32{"w": {3, .1}, "copy.w": {1, .1}, "other": {5}} {
		if _, err := ps.Add(name, layers.Backbone, layers.Weight, layers.Values(v), len(v)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := NewFollower(.9, ps, func(p *layers.Param) *layers.Param { return ps.Get("copy." + p.Name) })
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []float32 { return numbers(t, ps, NamedTensor{name, ps.Get(name).Value}) }
	for _, want := range []float64{1.2, 1.38} {
		if err := f.Update(); err != nil {
			t.Fatal(err)
		}
		if got := read("copy.w"); math.Abs(float64(got[0])-want) > 1e-6 || got[1] != .1 {
			t.Errorf("%v, want %v and 0.1", got, want)
		}
	}
	if !slices.Equal(read("w"), []float32{3, .1}) || !slices.Equal(read("other"), []float32{5}) {
		t.Error("what is followed moves")
	}
	if err := f.Restart(); err != nil || !slices.Equal(read("copy.w"), []float32{3, .1}) {
		t.Errorf("begun anew: %v, %v", read("copy.w"), err)
	}
	for _, m := range []float64{0, 1, -1, math.NaN()} {
		if _, err := NewFollower(m, ps, func(*layers.Param) *layers.Param { return nil }); err == nil || !strings.Contains(err.Error(), "above 0 and below 1") {
			t.Errorf("momentum %v: %v", m, err)
		}
	}
}
