package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// lateEngine clips as a device does: the norm is there at once, but only returned when
// it is asked for.
type lateEngine struct {
	engine.Engine
	events []string // "clip" and "norm", with the number of the step
	clips  int
	// spoil, if not 0, makes the distances' gradients NaN from that call on.
	spoil, grads int
}

type lateMove struct {
	engine.Mover
	eng    *lateEngine
	number int
	norm   float64
}

func (e *lateEngine) Clip(xs []engine.Tensor, norm, value float64) (engine.Clipped, error) {
	e.clips++
	e.events = append(e.events, fmt.Sprint("clip ", e.clips))
	sum, err := e.SumSquares(xs)
	if err != nil {
		return nil, err
	}
	l := &lateMove{e.Engine, e, e.clips, math.Sqrt(sum)}
	if !finite.Is(sum) {
		l.Mover = still{}
		return l, nil
	}
	if norm > 0 && l.norm > norm {
		for _, x := range xs {
			if err := e.Scale(x, x, float32(norm/l.norm)); err != nil {
				return nil, err
			}
		}
	}
	if value > 0 {
		err = e.Clamp(xs, float32(value))
	}
	return l, err
}

func (l *lateMove) Norm() (float64, error) {
	l.eng.events = append(l.eng.events, fmt.Sprint("norm ", l.number))
	return l.norm, nil
}

// still moves nothing.
type still struct{}

func (still) SGD([]engine.Slot, engine.SGDSpec) error         { return nil }
func (still) AdamW([]engine.Slot, engine.AdamWSpec) error     { return nil }
func (still) RMSprop([]engine.Slot, engine.RMSpropSpec) error { return nil }

func (e *lateEngine) PairwiseGrad(da, db, dd, d, a, b engine.Tensor, m metric.Metric) error {
	if err := e.Engine.PairwiseGrad(da, db, dd, d, a, b, m); err != nil {
		return err
	}
	if e.grads++; e.spoil == 0 || e.grads < e.spoil || da == nil {
		return nil
	}
	bad := make([]float32, da.Size())
	bad[0] = float32(math.NaN())
	return e.Write(da, bad)
}

func beginOn(t *testing.T, c run.Config, eng engine.Engine) (*Session, run.Folder) {
	t.Helper()
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := Start(context.Background(), c, folder, eng, Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, folder
}

// stepsOf reads the records of steps, without how long they took.
func stepsOf(t *testing.T, folder run.Folder) []stepRecord {
	t.Helper()
	list := recordsOf(t, folder, "step", func(r stepRecord) string { return r.Event })
	for i := range list {
		list[i].Seconds = 0
	}
	return list
}

func TestNormsThatComeLateChangeNothing(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Optimizer.ClipNorm, c.Optimizer.ClipValue = 1, .05
	now, nowFolder := beginOn(t, c, newTestEngine(t))
	eng := &lateEngine{Engine: newTestEngine(t)}
	then, lateFolder := beginOn(t, c, eng)
	for _, s := range []*Session{now, then} {
		if err := s.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range all(t, now) {
		if got := all(t, then)[name]; !slices.Equal(got, want) {
			t.Errorf("%s differs", name)
		}
	}
	if got, want := stepsOf(t, lateFolder), stepsOf(t, nowFolder); !slices.Equal(got, want) || len(got) < 6 {
		t.Errorf("logged %v, want %v", got, want)
	}
	if !reflect.DeepEqual(now.state.History, then.state.History) {
		t.Errorf("epochs %+v, want %+v", then.state.History, now.state.History)
	}
	// Within an epoch the norm of a step is asked for when the next has its loss, and
	// before that next step is taken.
	seen := strings.Join(eng.events[len(eng.events)-4:], ", ")
	if n := eng.clips; seen != fmt.Sprintf("clip %d, norm %d, clip %d, norm %d", n-1, n-1, n, n) {
		t.Errorf("the last events are %s", seen)
	}
}

func TestALateNormThatIsNotFiniteStopsTheRunAtItsStep(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 4))
	c.WarmupEpochs = 0
	eng := &lateEngine{Engine: newTestEngine(t), spoil: 4}
	s, folder := beginOn(t, c, eng)
	err := s.Train(context.Background())
	var diverged *DivergedError
	if !errors.As(err, &diverged) {
		t.Fatalf("got %v, want a run that has diverged", err)
	}
	if diverged.Step != 4 || diverged.Node == "" || !strings.Contains(diverged.What, "gradient") {
		t.Errorf("got %+v, want step 4 and the node of a gradient", diverged)
	}
	if n := len(stepsOf(t, folder)); n != 3 || s.stepper.opti.Steps() != 3 {
		t.Errorf("%d steps are logged and %d counted, want 3", n, s.stepper.opti.Steps())
	}
}

func TestAnInterruptedRunSavesTheStepThatIsOpen(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 4))
	eng := &lateEngine{Engine: newTestEngine(t)}
	ctx, cancel := context.WithCancel(context.Background())
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := Start(ctx, c, folder, eng, Options{Workers: 1, Events: stopsAfter{after: 3, stop: cancel}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want an interruption", err)
	}
	if got := stepsOf(t, folder); len(got) != 3 || got[2].GradNorm <= 0 {
		t.Errorf("logged %v, want three steps", got)
	}
	if s.stepper.order.(*onDevice).open != nil || s.state.LossSteps+len(s.state.History) == 0 {
		t.Error("the last step is still open")
	}
}

// stopsAfter ends a run after some steps.
type stopsAfter struct {
	silent
	after int
	stop  func()
}

func (s stopsAfter) Progress(task string, done, _ int, _ string) {
	if strings.HasPrefix(task, "epoch") && done == s.after {
		s.stop()
	}
}
