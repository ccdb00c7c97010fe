package trace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/engine"
)

// ticking is a tracer whose clock moves by hand.
func ticking() (t *Tracer, pass func(time.Duration)) {
	var now time.Duration
	return &Tracer{clock: func() time.Duration { return now }}, func(d time.Duration) { now += d }
}

// step has a convolution twice and a loss with a download inside:
//
//	step     0 to 20 ms
//	conv 1   1 to 5
//	loss     5 to 12
//	download   6 to 9
//	conv 2   12 to 18
func step(t *testing.T) []Span {
	t.Helper()
	tr, pass := ticking()
	conv := engine.Work{Kind: "conv", Phase: engine.PhaseForward, In: [][]int{{1, 2, 3, 3}, {4, 2, 1, 1}}, Out: [][]int{{1, 4, 3, 3}}, FLOPs: 1e7, Bytes: 5e6}
	first, second := conv, conv
	first.Name, second.Name = "conv 1", "conv 2"
	const ms = time.Millisecond
	tr.Begin(&engine.Work{Name: "step", Kind: "step"})
	pass(1 * ms)
	tr.Begin(&first)
	pass(4 * ms)
	tr.End()
	tr.Begin(&engine.Work{Name: "loss", Kind: "host loss", Phase: engine.PhaseLoss})
	pass(1 * ms)
	tr.Begin(&engine.Work{Name: "values", Kind: "download", Phase: engine.PhaseLoss})
	pass(3 * ms)
	tr.End()
	pass(3 * ms)
	tr.End()
	tr.Begin(&second)
	pass(6 * ms)
	tr.End()
	pass(2 * ms)
	tr.End()
	spans, err := tr.Spans()
	if err != nil {
		t.Fatal(err)
	}
	return spans
}

func TestWorkInsideIsCountedOnce(t *testing.T) {
	table := Tabulate(step(t))
	if table.Step != 20*time.Millisecond || table.Sum != 17*time.Millisecond {
		t.Errorf("sum %v of %v, want 17 of 20 ms", table.Sum, table.Step)
	}
	want := []Row{
		{"conv", "1x2x3x3 4x2x1x1 -> 1x4x3x3", 2, 10 * time.Millisecond, 2e7, 1e7},
		{"host loss", "", 1, 4 * time.Millisecond, 0, 0},
		{"download", "", 1, 3 * time.Millisecond, 0, 0},
	}
	if len(table.Rows) != len(want) {
		t.Fatalf("got %+v", table.Rows)
	}
	for i, r := range table.Rows {
		if r != want[i] {
			t.Errorf("row %d: got %+v, want %+v", i, r, want[i])
		}
	}
}

func TestTheTableHasRatesAndSharesAndTheRest(t *testing.T) {
	var out strings.Builder
	if err := Tabulate(step(t)).Write(&out, 1); err != nil {
		t.Fatal(err)
	}
	// 2e7 operations and 1e7 bytes in 10 ms of a step of 20.
	const want = `op          shapes                      calls  ms      share  GFLOPS  GB/s
conv        1x2x3x3 4x2x1x1 -> 1x4x3x3  2      10.000  50.0%  2.0     1.0
all others                              2      7.000   35.0%  -       -
ops: 17.00 ms, 85.0% of the step's 20.00 ms
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestChromeEventsAreDisjointOrNested(t *testing.T) {
	var out strings.Builder
	if err := WriteChrome(&out, step(t)); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			Ts, Dur       float64
			Pid, Tid      int
			Args          struct {
				Kind  string
				FLOPs float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &file); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	want := []struct {
		name    string
		ts, dur float64
	}{{"step", 0, 20000}, {"conv 1", 1000, 4000}, {"loss", 5000, 7000}, {"values", 6000, 3000}, {"conv 2", 12000, 6000}}
	if len(file.TraceEvents) != len(want) {
		t.Fatalf("got %d events, want %d", len(file.TraceEvents), len(want))
	}
	for i, e := range file.TraceEvents {
		if w := want[i]; e.Name != w.name || e.Ts != w.ts || e.Dur != w.dur || e.Ph != "X" || e.Pid != 1 || e.Tid != 1 {
			t.Errorf("got %+v, want %+v", e, w)
		}
		for _, o := range file.TraceEvents[:i] {
			disjoint := o.Ts+o.Dur <= e.Ts
			nested := e.Ts+e.Dur <= o.Ts+o.Dur
			if !disjoint && !nested {
				t.Errorf("%s and %s overlap", o.Name, e.Name)
			}
		}
	}
	if e := file.TraceEvents[1]; e.Cat != "forward" || e.Args.Kind != "conv" || e.Args.FLOPs != 1e7 {
		t.Errorf("details: %+v", e)
	}
}

func TestADeviceIsWaitedForAtBothEndsAndItsErrorKept(t *testing.T) {
	tr, pass := ticking()
	failure, waits := errors.New("device lost"), 0
	tr.wait = func() error {
		waits++
		pass(time.Millisecond)
		if waits == 2 {
			return failure
		}
		return nil
	}
	tr.Begin(&engine.Work{Name: "op"})
	tr.End()
	tr.Begin(&engine.Work{Name: "op"})
	tr.End()
	spans, err := tr.Spans()
	if waits != 4 || !errors.Is(err, failure) {
		t.Errorf("%d waits, %v", waits, err)
	}
	// The work is over when the wait is, so its time counts.
	if spans[0].Start != time.Millisecond || spans[0].Time != time.Millisecond {
		t.Errorf("got %+v", spans[0])
	}
}
