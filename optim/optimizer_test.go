package optim

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// quadratic is a graph whose loss is the sum over parameters of w^2/2, so that
// the gradient of each parameter is the parameter itself.
func quadratic(t *testing.T, w map[string]float32, roles map[string]layers.Role) (*layers.Params, *layers.Graph) {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	var total *layers.Node
	for name, v := range w {
		restore := g.In(groupOf(name))
		p := g.Param(name, roles[name], layers.Constant(v), 1)
		restore()
		l := g.HostLoss("half square of "+name, func(x, grads [][]float64) (float64, error) {
			grads[0][0] = x[0][0]
			return x[0][0] * x[0][0] / 2, nil
		}, p)
		if total == nil {
			total = l
		} else {
			total = g.Add(total, l)
		}
	}
	g.Backward(total, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return ps, g
}

// groupOf is the group of the parameters of this package's tests.
func groupOf(name string) layers.Group {
	switch {
	case strings.HasPrefix(name, "embedding."):
		return layers.Head
	case strings.HasPrefix(name, "loss."):
		return layers.Loss
	case strings.HasPrefix(name, "training."):
		return layers.Training
	}
	return layers.Backbone
}

func value(t *testing.T, ps *layers.Params, name string) float64 {
	t.Helper()
	v := make([]float32, 1)
	if err := ps.Engine().Read(v, ps.Get(name).Value); err != nil {
		t.Fatal(err)
	}
	return float64(v[0])
}

func steps(t *testing.T, o *Optimizer, g *layers.Graph, n int) (norm float64) {
	t.Helper()
	for range n {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		var err error
		if norm, err = o.Step(1); err != nil {
			t.Fatal(err)
		}
	}
	return norm
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-7*max(1, math.Abs(want)) {
		t.Errorf("%s: got %.9g, want %.9g", what, got, want)
	}
}

// AdamW with rate 0.1, decay 0.01, beta 0.9 and 0.999 on f(w) = w^2/2 from w = 1,
// by hand (g = w):
//
//	step 1: w = 1 - .1*.01*1 = .999; m = .1*1, v = .001*1; m^ = 1, v^ = 1:
//	        w = .999 - .1*1/(1+1e-8) = .899000001
//	step 2: g = .899000001; w(1-.001) = .898101001; m = .09+.0899 = .1799000001,
//	        v = .000999+.001*.808201002 = .001807201002; m^ = m/.19 = .946842106,
//	        v^ = v/.001999 = .904052527, sqrt .950816770;
//	        w = .898101001 - .1*.946842106/.950816780 = .798519027
func TestAdamWMatchesStepsWorkedByHand(t *testing.T) {
	ps, g := quadratic(t, map[string]float32{"w": 1}, nil)
	s := Default()
	s.Rate, s.Decay = .1, .01
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "norm of the gradient", steps(t, o, g, 1), 1)
	near(t, "step 1", value(t, ps, "w"), .899000001)
	steps(t, o, g, 1)
	near(t, "step 2", value(t, ps, "w"), .798519027)
}

// SGD with rate 0.1, momentum 0.9 and no decay from w = 1 (g = w):
// v = 1, w = .9; v = .9+.9 = 1.8, w = .72; v = 1.62+.72 = 2.34, w = .486.
// Nesterov: w -= .1(g + .9v): v = 1, w = 1-.19 = .81;
// v = .9+.81 = 1.71, w = .81-.1(.81+1.539) = .5751.
func TestSGDMatchesStepsWorkedByHand(t *testing.T) {
	s := Default()
	s.Name, s.Rate, s.Decay, s.Momentum = "sgd", .1, 0, .9
	ps, g := quadratic(t, map[string]float32{"w": 1}, nil)
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{.9, .72, .486} {
		steps(t, o, g, 1)
		near(t, "momentum, step "+string(rune('1'+i)), value(t, ps, "w"), want)
	}
	s.Nesterov = true
	ps, g = quadratic(t, map[string]float32{"w": 1}, nil)
	if o, err = New(s, ps, g); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{.81, .5751} {
		steps(t, o, g, 1)
		near(t, "Nesterov, step "+string(rune('1'+i)), value(t, ps, "w"), want)
	}
}

// Adam with rate 0.1, L2 penalty 0.5 on f(w) = w^2/2 from w = 1: g = w + .5 w.
//
//	step 1: g = 1.5; m^ = 1.5, v^ = 2.25: w = 1 - .1*1.5/(1.5+1e-8) = .9
//	step 2: g = 1.35; m = .135+.135 = .27, /.19 = 1.421052632;
//	        v = .00225*.999+.001*1.8225 = .00407025, /.001999 = 2.036143072, root 1.426935;
//	        w = .9 - .1*1.421052632/1.426934853 = .8004122
func TestAdamPutsDecayIntoTheGradient(t *testing.T) {
	s := Default()
	s.Name, s.Rate, s.Decay = "adam", .1, .5
	ps, g := quadratic(t, map[string]float32{"w": 1}, nil)
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []float64{.9, .8004122} {
		steps(t, o, g, 1)
		near(t, "Adam", value(t, ps, "w"), want)
	}
}

// RMSprop with rate 0.1, alpha 0.75, eps 0, momentum 0.5 on w^2/2 from w = 1:
//
//	step 1: v = .25, u = 1/.5 = 2, b = 2, w = .8
//	step 2: v = .1875+.16 = .3475 (root .589491306), u = 1.357102085, b = 2.357102085, w = .5642897915
func TestRMSpropMatchesStepsWorkedByHand(t *testing.T) {
	s := Default()
	s.Name, s.Rate, s.Decay, s.Alpha, s.Eps, s.Momentum = "rmsprop", .1, 0, .75, 0, .5
	ps, g := quadratic(t, map[string]float32{"w": 1}, nil)
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []float64{.8, .5642897915} {
		steps(t, o, g, 1)
		near(t, "RMSprop", value(t, ps, "w"), want)
	}
	if st := o.State(); len(st) != 2 || st[0].Name != "optimizer/square_avg/w" || st[1].Name != "optimizer/momentum/w" {
		t.Errorf("state %v", st)
	}
}

func TestRatesAndDecayDependOnWhatAParameterIs(t *testing.T) {
	w := map[string]float32{"embedding.level2.certainty": 1, "block1.conv.weight": 1, "block1.bn.weight": 1, "block1.bias": 1, "embedding.weight": 1, "training.fc.weight": 1, "loss.proxies": 1, "block1.lora_A": 1}
	roles := map[string]layers.Role{"embedding.level2.certainty": layers.Proxy, "block1.lora_A": layers.LowRank, "block1.bn.weight": layers.NormGain, "loss.proxies": layers.Proxy, "block1.bias": layers.Bias}
	ps, g := quadratic(t, w, roles)
	s := Default()
	s.Name, s.Momentum, s.Rate, s.Decay, s.HeadRate, s.ProxyRate = "sgd", 0, .01, .5, 2, 10
	s.HeadDecay, s.ProxyDecay, s.DecayBias = 3, 0, true
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "norm over all", steps(t, o, g, 1), math.Sqrt(8))
	near(t, "LoRA", value(t, ps, "block1.lora_A"), 1-.01*1.5)
	near(t, "bias, decayed", value(t, ps, "block1.bias"), 1-.01*1.5)
	near(t, "backbone", value(t, ps, "block1.conv.weight"), 1-.01*1.5)
	near(t, "normalization, not decayed", value(t, ps, "block1.bn.weight"), 1-.01)
	near(t, "head", value(t, ps, "embedding.weight"), 1-.02*2.5)
	near(t, "a layer that only training needs", value(t, ps, "training.fc.weight"), 1-.02*2.5)
	near(t, "proxies", value(t, ps, "loss.proxies"), 1-.1)
	near(t, "what levels are compared by", value(t, ps, "embedding.level2.certainty"), 1-.1)
}

func TestRatesFallByLayer(t *testing.T) {
	ps, g := quadratic(t, map[string]float32{"blocks.0.w": 1, "blocks.1.w": 1, "embedding.weight": 1}, nil)
	ps.Get("blocks.0.w").Depth, ps.Get("blocks.1.w").Depth = 2, 1
	s := Default()
	s.Name, s.Momentum, s.Rate, s.Decay, s.HeadRate, s.LayerDecay = "sgd", 0, .01, 0, 1, .5
	for _, off := range []float64{1, 0} {
		d := s
		d.LayerDecay = off
		if rate, _ := d.of(ps.Get("blocks.0.w")); rate != 1 {
			t.Errorf("layer decay %v: the rate is multiplied by %v", off, rate)
		}
	}
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, o, g, 1)
	near(t, "first block", value(t, ps, "blocks.0.w"), 1-.0025)
	near(t, "second block", value(t, ps, "blocks.1.w"), 1-.005)
	near(t, "head", value(t, ps, "embedding.weight"), 1-.01)
}

func TestClippingLimitsNormAndElements(t *testing.T) {
	w := map[string]float32{"a": 3, "b": 4} // the gradient has norm 5
	s := Default()
	s.Name, s.Momentum, s.Rate, s.Decay = "sgd", 0, 1, 0
	s.ClipNorm = 1
	ps, g := quadratic(t, w, nil)
	o, err := New(s, ps, g)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "norm before clipping", steps(t, o, g, 1), 5)
	near(t, "a, by norm", value(t, ps, "a"), 3-.6)
	near(t, "b, by norm", value(t, ps, "b"), 4-.8)
	s.ClipNorm, s.ClipValue = 0, 3.5
	ps, g = quadratic(t, w, nil)
	if o, err = New(s, ps, g); err != nil {
		t.Fatal(err)
	}
	steps(t, o, g, 1)
	near(t, "a, by value", value(t, ps, "a"), 0)
	near(t, "b, by value", value(t, ps, "b"), .5)
}

func TestANonFiniteGradientMovesNothing(t *testing.T) {
	ps, g := quadratic(t, map[string]float32{"a": 1, "b": float32(math.Inf(1))}, nil)
	o, err := New(Default(), ps, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Step(1); !errors.Is(err, ErrNonFinite) {
		t.Errorf("got %v, want %v", err, ErrNonFinite)
	}
	if got := value(t, ps, "a"); got != 1 || o.Steps() != 0 {
		t.Errorf("a moved to %v, %d steps counted", got, o.Steps())
	}
}

func TestSettingsOutOfRangeAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"adamw":      func(s *Settings) { s.Name = "lion" },
		"nesterov":   func(s *Settings) { s.Nesterov = true },
		"alpha":      func(s *Settings) { s.Alpha = -.1 },
		"head decay": func(s *Settings) { s.HeadDecay = -1 },
		"rate":       func(s *Settings) { s.Rate = math.NaN() },
		"beta2":      func(s *Settings) { s.Beta2 = 1 },
		"momentum":   func(s *Settings) { s.Momentum = 1 },
		"clip norm":  func(s *Settings) { s.ClipNorm = -1 },
		"proxy rate": func(s *Settings) { s.ProxyRate = math.Inf(1) },
	} {
		s := Default()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// The parameter that joins after one step takes the steps of AdamW that
// TestAdamWMatchesStepsWorkedByHand has, as the other one did before it.
func TestAParameterThatJoinsLateBeginsWithItsFirstStep(t *testing.T) {
	s := Default()
	s.Name, s.Rate, s.Decay = "adamw", .1, .01
	early, g := quadratic(t, map[string]float32{"embedding.weight": 1}, nil)
	before, err := New(s, early, g)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, before, g, 1)
	both, g := quadratic(t, map[string]float32{"embedding.weight": .899000001, "block1.conv.weight": 1}, nil)
	o, err := New(s, both, g)
	if err != nil {
		t.Fatal(err)
	}
	o.Follow(before)
	if o.Steps() != 1 {
		t.Errorf("%d steps", o.Steps())
	}
	steps(t, o, g, 1)
	near(t, "the early one's second step", value(t, both, "embedding.weight"), .798519027)
	near(t, "the late one's first step", value(t, both, "block1.conv.weight"), .899000001)
	// Resumed, it continues in the same way.
	again, g2 := quadratic(t, map[string]float32{"embedding.weight": float32(value(t, both, "embedding.weight")), "block1.conv.weight": float32(value(t, both, "block1.conv.weight"))}, nil)
	r, err := New(s, again, g2)
	if err != nil {
		t.Fatal(err)
	}
	for i, from := range o.State() {
		if err := again.Engine().Copy(r.State()[slices.IndexFunc(r.State(), func(x NamedTensor) bool { return x.Name == from.Name })].Value, from.Value); err != nil {
			t.Fatal(i, err)
		}
	}
	r.SetSteps(2, 1)
	steps(t, o, g, 1)
	steps(t, r, g2, 1)
	for _, name := range []string{"embedding.weight", "block1.conv.weight"} {
		if a, b := value(t, both, name), value(t, again, name); a != b || math.IsNaN(a) {
			t.Errorf("%s: %v without a stop, %v with one", name, a, b)
		}
	}
}
