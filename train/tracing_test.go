package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/trace"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// traceOf reads the events of a run's trace.
func traceOf(t *testing.T, folder run.Folder) (events []tracedEvent) {
	t.Helper()
	text, err := os.ReadFile(folder.Path(run.TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []tracedEvent }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, e := range file.TraceEvents {
		if e.Ph == "X" && e.Tid == 1 {
			events = append(events, e)
		}
	}
	return events
}

type tracedEvent struct {
	Name, Ph string
	Tid      int
	Ts, Dur  float64
	Args     struct{ Kind string }
}

// kindsOf counts events by kind, and lists the names of steps.
func kindsOf(events []tracedEvent) (kinds map[string]int, steps []string) {
	kinds = map[string]int{}
	for _, e := range events {
		kinds[e.Args.Kind]++
		if e.Args.Kind == "step" {
			steps = append(steps, e.Name)
		}
	}
	return kinds, steps
}

func TestATracedRunIsTheRunToTheBit(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"one graph": func(c *run.Config) {},
		"a memory":  func(c *run.Config) { c.Loss = run.LossConfig{Name: "multi-similarity", Memory: 12} },
		"micro-batches": func(c *run.Config) {
			c.MicroBatch, c.Freeze = 4, model.Freeze{BNStats: true}
		},
	} {
		c := smallConfig(t, shades(t, 8, 4))
		c.Data.Augment = "photos"
		change(&c)
		plain, traced := begin(t, c), begin(t, c)
		traced.tracing.steps = 4
		trainAll(t, plain)
		trainAll(t, traced)
		same(t, name, all(t, plain), all(t, traced))
		kinds, steps := kindsOf(traceOf(t, traced.folder))
		// The warm-up ends with the second step.
		if got := strings.Join(steps, ", "); got != "step 2, step 3, step 4, step 5" || plain.sampler.Batches() != 2 {
			t.Errorf("%s: traced %s of epochs of %d", name, got, plain.sampler.Batches())
		}
		parts := 1
		if c.MicroBatch > 0 {
			parts = 2
		}
		want := map[string]int{trace.KindWait: 4, "clip": 4, "adamw": 4, "upload": 4 * parts}
		if c.MicroBatch > 0 {
			want["upload"] = 4*2*parts + 4*parts // both passes, and the gradients of embeddings
			want["sum of gradients"] = 4 * parts
		}
		if c.Loss.Memory > 0 {
			want["cross-batch memory"] = 4
		}
		for kind, n := range want {
			have := kinds[kind]
			if kind == "upload" {
				have -= 4 // inside the loss
			}
			if have != n {
				t.Errorf("%s: %q is there %d times, want %d", name, kind, have, n)
			}
		}
		if kinds["conv grad weights"] == 0 || kinds["host loss"] != 4 {
			t.Errorf("%s: kinds %v", name, kinds)
		}
		records := recordsOf(t, traced.folder, "trace", func(r traceRecord) string { return r.Event })
		if len(records) != 1 || records[0].Step != 5 || records[0].Traced != 4 || !(records[0].Seconds > 0 && records[0].Waiting >= 0 && records[0].Waiting < 1) {
			t.Errorf("%s: the log says %+v", name, records)
		}
	}
}

// Most of a step's time is that of its parts, whatever the machine does.
func TestTheTraceOfARunIsNestedAndInOrder(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	s.tracing.steps = 3
	trainAll(t, s)
	var step tracedEvent
	for _, e := range traceOf(t, s.folder) {
		if e.Args.Kind == "step" {
			if e.Ts < step.Ts+step.Dur {
				t.Errorf("%s begins before %s ends", e.Name, step.Name)
			}
			step = e
		}
		if e.Ts < step.Ts || e.Ts+e.Dur > step.Ts+step.Dur+.001 {
			t.Errorf("%s is not inside of %s", e.Name, step.Name)
		}
	}
}

// ticking is an engine whose device is always 1 ms further at the next mark.
type ticking struct {
	*feeding
	marks, read int
	open        int
}

func (e *ticking) Marks() (engine.Marks, error) {
	e.open++
	return e, nil
}

func (e *ticking) Mark() error {
	e.marks++
	return nil
}

func (e *ticking) Times() (list []time.Duration, err error) {
	for ; e.read < e.marks; e.read++ {
		list = append(list, time.Duration(e.read)*time.Millisecond)
	}
	return list, nil
}

func (e *ticking) Close() error {
	e.open--
	return nil
}

// On a device the times are those of its queue. Here a step takes as many milliseconds as
// it has marks, less one, and its wait for pictures one.
func TestTheShareOfWaitingIsOfTheDevicesQueue(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs = 0
	eng := &ticking{feeding: &feeding{Engine: newTestEngine(t)}}
	s, folder := beginOn(t, c, eng)
	s.tracing.steps = 3
	trainAll(t, s)
	events := traceOf(t, folder)
	total, waits := 0., 0.
	for _, e := range events {
		switch e.Args.Kind {
		case "step":
			total += e.Dur
		case trace.KindWait:
			if waits++; e.Dur != 1000 {
				t.Errorf("a wait takes %v us, want 1000", e.Dur)
			}
		}
	}
	if total != 1000*float64(2*len(events)-3) {
		t.Errorf("three steps take %v us with %d events", total, len(events))
	}
	records := recordsOf(t, folder, "trace", func(r traceRecord) string { return r.Event })
	if len(records) != 1 || math.Abs(records[0].Seconds-total/3e6) > 1e-9 || math.Abs(records[0].Waiting-1000*waits/total) > 1e-9 {
		t.Errorf("the log says %+v, want %v s and %v", records, total/3e6, 1000*waits/total)
	}
	// Step 3, the first of an epoch, waits for its own batch and, to send it ahead, for that
	// of step 4. So did step 1 for that of step 2.
	if waits != 2 || eng.open != 0 {
		t.Errorf("%v waits; %d sets of marks are open", waits, eng.open)
	}
	text, err := os.ReadFile(folder.Path(run.TraceTable))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 steps to step 4 on cpu", "of it waiting for pictures\n\nkind ", "\nop ", "phases: data ", "ops: "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestAnInterruptedRunHasTheTraceOfItsSteps(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs = 0
	s := begin(t, c)
	s.tracing.steps = 100
	ctx, stop := context.WithCancel(t.Context())
	s.ev = after{stop: stop, steps: 3, opti: s.stepper.opti}
	if err := s.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	steps := s.stepper.opti.Steps()
	if _, list := kindsOf(traceOf(t, s.folder)); len(list) != steps-1 || steps < 3 {
		t.Errorf("traced %v of %d steps", list, steps)
	}
	if r := recordsOf(t, s.folder, "trace", func(r traceRecord) string { return r.Event }); len(r) != 1 || r[0].Traced != steps-1 {
		t.Errorf("the log says %+v", r)
	}
	s.Close()
	// A run that begins anew does not keep it.
	if err := s.folder.ClearResults(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{run.TraceFile, run.TraceTable} {
		if _, err := os.Stat(s.folder.Path(name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestARunOfOneStepHasNoTrace(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Steps, c.WarmupEpochs = 1, 0
	s, events := heard(t, c)
	s.tracing.steps = 5
	trainAll(t, s)
	if !says(events.warnings, "no step was traced: this process took 1 step") {
		t.Errorf("warned of %q", events.warnings)
	}
	if _, err := os.Stat(s.folder.Path(run.TraceFile)); err == nil {
		t.Error("there is a trace")
	}
}
