package train

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

// twoNumbers is a graph whose loss is the half square of used, and of idle only in
// steps in which awake is set.
func twoNumbers(t *testing.T, awake *bool) (*layers.Params, *layers.Graph) {
	t.Helper()
	eng := newTestEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	part := func(name string, size int, on func() bool) *layers.Node {
		return g.HostLoss("half square of "+name, func(x, grads [][]float64) (float64, error) {
			clear(grads[0])
			if on() {
				copy(grads[0], x[0])
			}
			return 1, nil
		}, g.Param(name, layers.Weight, layers.Constant(1), size))
	}
	g.Backward(g.Add(g.Add(part("used", 2, func() bool { return true }), part("idle", 2, func() bool { return *awake })), part("number", 1, func() bool { return *awake })), nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return ps, g
}

// moveOnce is a step forth and back with the whole rate; it returns the gradient's norm.
func moveOnce(t *testing.T, o *optim.Optimizer, g *layers.Graph) float64 {
	t.Helper()
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	norm, err := o.Step(1)
	if err != nil {
		t.Fatal(err)
	}
	return norm
}

func TestAParameterThatNeverMovesIsAnErrorAtTheSecondStep(t *testing.T) {
	for name, c := range map[string]struct {
		wakes int // the step that reaches all, 0 for never
		fails int // the step that is an error, 0 for none
		want  string
	}{
		"never":            {0, 2, "no gradient has reached idle,"},
		"at the second":    {2, 0, ""},
		"not by the third": {3, 2, "freeze.params"},
	} {
		awake := false
		ps, g := twoNumbers(t, &awake)
		s := optim.Default()
		s.Decay = .5 // moves a weight that has no gradient, too
		o, err := optim.New(s, ps, g)
		if err != nil {
			t.Fatal(err)
		}
		u, failed := newUsage(o), 0
		for step := 1; step <= 4 && failed == 0; step++ {
			awake = step == c.wakes
			norm := moveOnce(t, o, g)
			if err := u.look(ps.Engine(), step, norm); err != nil {
				failed = step
				if unused := new(UnusedError); !errors.As(err, &unused) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if failed != c.fails {
			t.Errorf("%s: an error at step %d, want %d", name, failed, c.fails)
		}
	}
	awake := false
	ps, g := twoNumbers(t, &awake)
	o, err := optim.New(optim.Default(), ps, g)
	if err != nil {
		t.Fatal(err)
	}
	u := newUsage(o)
	for step := range 9 {
		if err := u.look(ps.Engine(), step, 0); err != nil {
			t.Errorf("steps without any gradient: %v", err)
		}
	}
	u.names, u.grads = u.names[2:], u.grads[2:] // the single number
	for step := 1; step <= numberUsedWithin; step++ {
		if err := u.look(ps.Engine(), step, moveOnce(t, o, g)); (err != nil) != (step == numberUsedWithin) {
			t.Errorf("a single number at step %d: %v", step, err)
		}
	}
}

func TestEveryParameterOfEveryLossMoves(t *testing.T) {
	images := shades(t, 8, 4)
	for _, name := range losses.Names() {
		c := smallConfig(t, images)
		if name == "avsl" {
			continue // of models with levels, see TestLevelsAreTrainedAndMeasured
		}
		c.Loss.Name, c.WarmupEpochs, c.Steps = name, 0, 2
		s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := all(t, s)
		if err := s.Train(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := s.state.History[0]; r.Idle != 0 {
			t.Errorf("%s: no term was active in %v of the steps", name, r.Idle)
		}
		names := moved(s.model.Params, before, all(t, s))
		for _, p := range s.model.Params.All() {
			if p.Trainable() && !slices.Contains(names, p.Name) {
				t.Errorf("%s: %s did not move", name, p.Name)
			}
		}
		s.Close()
	}
}
