package tpe

import (
	"maps"
	"math"
	"testing"
)

// function is a test function with a known minimum.
type function struct {
	space Space
	value func(at map[string]float64) float64
	best  float64
}

var names = []string{"a", "b", "c", "d", "e", "f"}

// branin has three minima of 0.397887.
func branin() function {
	return function{Space{{Name: "a", Low: -5, High: 10}, {Name: "b", Low: 0, High: 15}}, func(at map[string]float64) float64 {
		x, y := at["a"], at["b"]
		b := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
		return b*b + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
	}, .397887}
}

// hartmann6 has a minimum of -3.32237.
func hartmann6() function {
	a := [4][6]float64{{10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}}
	p := [4][6]float64{{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991}, {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381}}
	weight := [4]float64{1, 1.2, 3, 3.2}
	var s Space
	for _, n := range names {
		s = append(s, Param{Name: n, Low: 0, High: 1})
	}
	return function{s, func(at map[string]float64) float64 {
		sum := 0.
		for i := range a {
			d := 0.
			for k, n := range names {
				d += a[i][k] * (at[n] - p[i][k]/1e4) * (at[n] - p[i][k]/1e4)
			}
			sum -= weight[i] * math.Exp(-d)
		}
		return sum
	}, -3.32237}
}

// study minimizes a function and returns its trials and the least value.
func (f function) study(seed uint64, trials int, random bool) (list []Trial, least float64) {
	least = math.Inf(1)
	for n := range trials {
		at := Suggest(f.space, list, seed, n, Options{})
		if random {
			at = Random(f.space, seed, n)
		}
		v := f.value(at)
		list, least = append(list, Trial{at, -v, 1}), min(least, v)
	}
	return list, least
}

func TestTheFunctionsHaveTheirMinima(t *testing.T) {
	b := branin()
	for _, at := range [][2]float64{{-math.Pi, 12.275}, {math.Pi, 2.275}, {9.42478, 2.475}} {
		if v := b.value(map[string]float64{"a": at[0], "b": at[1]}); math.Abs(v-b.best) > 1e-5 {
			t.Errorf("Branin at %v is %v", at, v)
		}
	}
	h, at := hartmann6(), map[string]float64{}
	for k, v := range []float64{.20169, .150011, .476874, .275332, .311652, .6573} {
		at[names[k]] = v
	}
	if v := h.value(at); math.Abs(v-h.best) > 1e-4 {
		t.Errorf("Hartmann 6 at its minimum is %v", v)
	}
}

// The mean of 20 studies of 60 trials. Optuna 5.0.0 comes to 0.13 (deviation 0.14) on
// Branin and 0.30 (0.19) on Hartmann 6.
func TestTheEstimatorBeatsRandomSearch(t *testing.T) {
	for name, c := range map[string]struct {
		function
		atMost float64 // mean regret
	}{"Branin": {branin(), .15}, "Hartmann 6": {hartmann6(), .5}} {
		tpe, random, squares := 0., 0., 0.
		for seed := range uint64(20) {
			_, v := c.study(seed, 60, false)
			tpe, squares = tpe+(v-c.best)/20, squares+(v-c.best)*(v-c.best)
			_, v = c.study(seed, 60, true)
			random += (v - c.best) / 20
		}
		t.Logf("%s: regret %.4f, deviation %.4f, at random %.4f", name, tpe, math.Sqrt((squares-20*tpe*tpe)/19), random)
		if tpe >= random || tpe > c.atMost {
			t.Errorf("%s: mean regret %.4f, of random search %.4f; want less, and at most %v", name, tpe, random, c.atMost)
		}
	}
}

func TestTheSameSeedGivesTheSameStudy(t *testing.T) {
	f := hartmann6()
	a, _ := f.study(3, 40, false)
	b, _ := f.study(3, 40, false)
	other, _ := f.study(4, 40, false)
	for i := range a {
		if !maps.Equal(a[i].Params, b[i].Params) {
			t.Fatalf("trial %d: %v and %v", i, a[i].Params, b[i].Params)
		}
	}
	if maps.Equal(a[39].Params, other[39].Params) {
		t.Error("another seed gives the same trial")
	}
}

// A parameter more leaves the values of the others in the points that are drawn.
func TestSpacesThatShareParametersBeginAlike(t *testing.T) {
	s := hartmann6().space
	longer := append(Space{{Name: "more", Kind: Choice, N: 3}}, s...)
	seen := map[float64]bool{}
	for n := range 10 {
		a, b := Suggest(s, nil, 5, n, Options{}), Suggest(longer, nil, 5, n, Options{})
		delete(b, "more")
		if !maps.Equal(a, b) {
			t.Errorf("trial %d: %v and %v", n, a, b)
		}
		for _, v := range a {
			if seen[v] {
				t.Errorf("trial %d: the value %v is drawn twice", n, v)
			}
			seen[v] = true
		}
	}
}

// mixed is a space of all kinds, with a condition.
func mixed() Space {
	return Space{
		{Name: "rate", Kind: Log, Low: 1e-5, High: 1e-1}, {Name: "kind", Kind: Choice, N: 3}, {Name: "width", Kind: Int, Low: 2, High: 5},
		{Name: "only", Kind: Uniform, Low: -1, High: 1, Active: func(at map[string]float64) bool { return at["kind"] == 1 }},
	}
}

// The best of a mixed space is found: the second kind, a rate of 1e-3, a width of 4 and
// the conditional parameter at 0.5.
func TestAMixedSpaceWithACondition(t *testing.T) {
	s := mixed()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var list []Trial
	for n := range 120 {
		at := Suggest(s, list, 1, n, Options{})
		only, has := at["only"]
		if has != (at["kind"] == 1) || at["width"] != math.Trunc(at["width"]) || at["width"] < 2 || at["width"] > 5 || at["rate"] < 1e-5 || at["rate"] > 1e-1 {
			t.Fatalf("trial %d is outside of the space: %v", n, at)
		}
		v := -math.Abs(math.Log10(at["rate"])+3) - math.Abs(at["width"]-4)
		if has {
			v += 2 - math.Abs(only-.5)
		}
		list = append(list, Trial{at, v, 1})
	}
	best := list[0]
	for _, x := range list {
		if x.Value > best.Value {
			best = x
		}
	}
	if best.Value < 1.5 || best.Params["kind"] != 1 || best.Params["width"] != 4 {
		t.Errorf("the best of 120 trials is %v", best)
	}
	share := Importance(s, list)
	sum := 0.
	for _, v := range share {
		sum += v
	}
	if len(share) != 4 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("importance %v", share)
	}
}

// A parameter that decides alone has nearly all of the importance.
func TestImportanceFindsWhatDecides(t *testing.T) {
	s := Space{{Name: "a", Low: 0, High: 1}, {Name: "b", Low: 0, High: 1}}
	var list []Trial
	mean := 0.
	for seed := range uint64(10) {
		list = nil
		for n := range 100 {
			at := Random(s, seed, n)
			list = append(list, Trial{at, -math.Abs(at["a"] - .3), 1})
		}
		mean += Importance(s, list)["a"] / 10
	}
	if mean < .9 {
		t.Errorf("mean importance %v", mean)
	}
	if share := Importance(s, list[:7]); share != nil {
		t.Errorf("seven trials say %v", share)
	}
}

func TestSpacesThatMeanNothing(t *testing.T) {
	for _, s := range []Space{
		{{Name: "a", Low: 1, High: 1}}, {{Name: "a", Low: 0, High: 1, Kind: Log}}, {{Name: "a", Kind: Choice}},
		{{Name: "a", Kind: Int, Low: .5, High: 2}}, {{Name: "a", High: 1}, {Name: "a", High: 1}}, {{Name: "a", Kind: 9}},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v passes", s)
		}
	}
}
