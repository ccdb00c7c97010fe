package optim

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// RAdam with rate 0.1 and decoupled decay 0.01 on f(w) = w^2/2 from w = 1, by
// torch.optim.RAdam(decoupled_weight_decay=True) of PyTorch 2 in float64: five steps along the
// first moment, then rectified ones.
func TestRAdamMatchesPyTorch(t *testing.T) {
	for beta2, want := range map[float64][]float64{
		.999: {.899000000, .803416789, .713221609, .628370943, .548806551, .545816461, .542215860, .538093641, .533509276},
		.9:   {.899000000, .803416789, .713221609, .628370943, .548806551, .523262346, .490569862, .452028542, .408555968},
	} {
		ps, g := quadratic(t, map[string]float32{"w": 1}, nil)
		s := Default()
		s.Name, s.Rate, s.Decay, s.Beta2 = "radam", .1, .01, beta2
		o, err := New(s, ps, g)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			steps(t, o, g, 1)
			if got := value(t, ps, "w"); math.Abs(got-w) > 5e-7 {
				t.Errorf("beta2 %v, step %d: %.9f, want %.9f", beta2, i+1, got, w)
			}
		}
	}
}

// A parameter that joins late takes the first steps of its own, beside one that is past them.
func TestRAdamCountsTheStepsOfEachParameter(t *testing.T) {
	s := Default()
	s.Name, s.Rate, s.Decay = "radam", .1, .01
	early, g := quadratic(t, map[string]float32{"embedding.weight": 1}, nil)
	before, err := New(s, early, g)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, before, g, 6)
	at := float32(value(t, early, "embedding.weight"))
	both, g := quadratic(t, map[string]float32{"embedding.weight": at, "block1.conv.weight": 1}, map[string]layers.Role{})
	o, err := New(s, both, g)
	if err != nil {
		t.Fatal(err)
	}
	o.Follow(before)
	steps(t, o, g, 1)
	for name, want := range map[string]float64{"embedding.weight": .542215860, "block1.conv.weight": .899} {
		if got := value(t, both, name); math.Abs(got-want) > 5e-7 {
			t.Errorf("%s: %.9f, want %.9f", name, got, want)
		}
	}
	if n := len(o.State()); n != 4 {
		t.Errorf("%d tensors of state, want two moments of each parameter", n)
	}
}

// A gradient of 0 moves nothing, with an eps of 0 too.
func TestRAdamWithoutAGradient(t *testing.T) {
	ps, g := quadratic(t, map[string]float32{"a": 1, "b": 0}, nil)
	s := Default()
	s.Name, s.Rate, s.Decay, s.Eps = "radam", .1, 0, 1e-8
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, o, g, 7)
	if got := value(t, ps, "b"); got != 0 {
		t.Errorf("b moved to %v", got)
	}
}
