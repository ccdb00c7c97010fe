package optim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// averaged are parameters that hold the given numbers, and their average.
func averaged(t *testing.T, decay float64, w map[string][]float32) (*layers.Params, *Average) {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	ps := layers.NewParams(eng, 1)
	for name, v := range w {
		if _, err := ps.Add(name, layers.Backbone, layers.Weight, layers.Values(v), len(v)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := NewAverage(decay, ps, func(*layers.Param) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return ps, a
}

func numbers(t *testing.T, ps *layers.Params, v NamedTensor) []float32 {
	t.Helper()
	host := make([]float32, v.Value.Size())
	if err := ps.Engine().Read(host, v.Value); err != nil {
		t.Fatal(err)
	}
	return host
}

func TestAnAverageIsThatOfItsFormula(t *testing.T) {
	ps, a := averaged(t, .5, map[string][]float32{"w": {1, -2}})
	want := []float64{1, -2}
	for n, w := range [][]float32{{3, -2}, {0, 7}, {11, 1e-3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}, {1, 2}} {
		if err := ps.Engine().Write(ps.Get("w").Value, w); err != nil {
			t.Fatal(err)
		}
		if err := a.Update(n + 1); err != nil {
			t.Fatal(err)
		}
		d := min(.5, (2+float64(n))/(11+float64(n))) // 2/11 behind the first step, 1/2 from the eighth on
		for i := range want {
			want[i] = d*want[i] + (1-d)*float64(w[i])
		}
		for i, got := range numbers(t, ps, a.State()[0]) {
			if math.Abs(float64(got)-want[i]) > 1e-6*(1+math.Abs(want[i])) {
				t.Errorf("step %d: %v, want %v", n+1, got, want[i])
			}
		}
	}
	for n, want := range map[int]float64{1: 2. / 11, 7: 8. / 17, 8: .5, 1000: .5} {
		if d := a.DecayAt(n); math.Abs(d-want) > 1e-15 {
			t.Errorf("behind step %d the decay is %v, want %v", n, d, want)
		}
	}
	if got := a.State()[0].Name; got != "average/w" {
		t.Errorf("it is called %s", got)
	}
}

// What does not move, as a frozen statistic, has itself as its average, to the bit.
func TestAnAverageOfEqualValuesIsThatValue(t *testing.T) {
	v := []float32{1. / 3, -7.1e-8, 1e20, 0, 12345.678}
	ps, a := averaged(t, .999, map[string][]float32{"w": v})
	for n := range 50 {
		if err := a.Update(n + 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := numbers(t, ps, a.State()[0]); !slices.Equal(got, v) {
		t.Errorf("got %v, want %v", got, v)
	}
}

func TestSwappingTwiceChangesNothing(t *testing.T) {
	w, x := []float32{1, 2, 3}, []float32{4, 5, 6, 7}
	ps, a := averaged(t, .9, map[string][]float32{"w": w, "x": x})
	moved := []float32{10, 20, 30}
	if err := ps.Engine().Write(ps.Get("w").Value, moved); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{w, moved} {
		if err := a.Swap(); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, ps, NamedTensor{Value: ps.Get("w").Value}); !slices.Equal(got, want) {
			t.Errorf("swapped %d times: %v, want %v", i+1, got, want)
		}
		if got := numbers(t, ps, NamedTensor{Value: ps.Get("x").Value}); !slices.Equal(got, x) {
			t.Errorf("swapped %d times: %v, want %v", i+1, got, x)
		}
	}
	if got, want := a.Bytes(), int64(4*(3+4)*2); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// At the end of a warm-up more parameters are trained: averages so far go on, those of the
// others begin.
func TestAnAverageOfMoreParametersFollows(t *testing.T) {
	ps, all := averaged(t, .9, map[string][]float32{"a": {1}, "b": {2}})
	one, err := NewAverage(.9, ps, func(p *layers.Param) bool { return p.Name == "a" })
	if err != nil {
		t.Fatal(err)
	}
	if err := ps.Engine().Write(ps.Get("a").Value, []float32{12}); err != nil {
		t.Fatal(err)
	}
	if err := one.Update(1); err != nil {
		t.Fatal(err)
	}
	all.Follow(one)
	want := map[string]float32{"average/a": 10, "average/b": 2} // 1 + 9/11 of 11
	for _, s := range all.State() {
		if got := numbers(t, ps, s)[0]; math.Abs(float64(got-want[s.Name])) > 1e-5 {
			t.Errorf("%s is %v, want %v", s.Name, got, want[s.Name])
		}
	}
}

func TestADecayOutOfBoundsIsRefused(t *testing.T) {
	for _, decay := range []float64{0, 1, -1, math.NaN()} {
		if _, err := NewAverage(decay, nil, nil); err == nil || !strings.Contains(err.Error(), "above 0 and below 1") {
			t.Errorf("%v: %v", decay, err)
		}
	}
}
