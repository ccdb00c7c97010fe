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

// spansOf returns the spans of a tracer.
func spansOf(t *testing.T, tr *Tracer) []Span {
	t.Helper()
	spans, err := tr.Spans()
	if err != nil {
		t.Fatal(err)
	}
	return spans
}

// step has a convolution twice and a loss with a download inside:
//
//	step     0 to 20 ms
//	conv 1   1 to 5
//	loss     5 to 12
//	download   6 to 9
//	conv 2   12 to 18
func step() *Tracer {
	tr, pass := ticking()
	stepOf(tr, pass)
	return tr
}

func stepOf(tr *Tracer, pass func(time.Duration)) {
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
}

func TestWorkInsideIsCountedOnce(t *testing.T) {
	table := Tabulate(spansOf(t, step()))
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
	if err := Tabulate(spansOf(t, step())).Write(&out, 1); err != nil {
		t.Fatal(err)
	}
	// 2e7 operations and 1e7 bytes in 10 ms of a step of 20.
	const want = `kind       calls  ms      share  GFLOPS  GB/s
conv       2      10.000  50.0%  2.0     1.0
host loss  1      4.000   20.0%  -       -
download   1      3.000   15.0%  -       -

op          shapes                      calls  ms      share  GFLOPS  GB/s
conv        1x2x3x3 4x2x1x1 -> 1x4x3x3  2      10.000  50.0%  2.0     1.0
all others                              2      7.000   35.0%  -       -

phases: forward 50.0%, loss 35.0%
ops: 17.00 ms, 85.0% of the step's 20.00 ms
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestChromeEventsAreDisjointOrNested(t *testing.T) {
	var out strings.Builder
	if err := step().WriteChrome(&out); err != nil {
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

// Of several steps a table gives the mean: here 20 ms and 40 ms.
func TestATableOfSeveralStepsIsOfOne(t *testing.T) {
	tr, pass := ticking()
	stepOf(tr, pass)
	stepOf(tr, func(d time.Duration) { pass(2 * d) })
	r := Tabulate(spansOf(t, tr)).Report()
	if r.Steps != 2 || r.Seconds != .030 || r.Sum != .0255 {
		t.Errorf("%d steps of %v s, operations %v s; want 2 of 0.03, 0.0255", r.Steps, r.Seconds, r.Sum)
	}
	// 15 ms of convolutions in a step of 30, with 2e7 operations and 1e7 bytes.
	want := Line{Kind: "conv", Calls: 2, Seconds: .015, Share: .5, GFLOPS: 4. / 3, GBs: 2. / 3}
	if got := r.Kinds[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if p := r.Phases; len(p) != 2 || p[0].Kind != "forward" || p[0].Share != .5 || p[1].Kind != "loss" || p[1].Seconds != .0105 {
		t.Errorf("phases %+v", p)
	}
}

func TestTheShareOfWaitingIsThatOfItsKind(t *testing.T) {
	tr, pass := ticking()
	for _, wait := range []time.Duration{1, 3} {
		tr.Begin(&engine.Work{Kind: "step"})
		tr.Begin(&engine.Work{Kind: KindWait, Phase: engine.PhaseData})
		pass(wait * time.Millisecond)
		tr.End()
		pass(6 * time.Millisecond)
		tr.End()
	}
	if got := Tabulate(spansOf(t, tr)).Waiting(); got != .25 { // 4 of 16 ms
		t.Errorf("%v of the time is waiting, want 0.25", got)
	}
	if got := Tabulate(nil).Waiting(); got != 0 {
		t.Errorf("%v of no time is waiting", got)
	}
}

// queue is a device whose marks are 1 ms apart at first, then 2 ms, and so on.
type queue struct {
	marks, read, times, closed int
	failure                    error
}

func (q *queue) Mark() error {
	q.marks++
	return nil
}

func (q *queue) Times() (list []time.Duration, err error) {
	q.times++
	for ; q.read < q.marks; q.read++ {
		list = append(list, time.Duration(q.read*(q.read+1)/2)*time.Millisecond)
	}
	return list, q.failure
}

func (q *queue) Close() error {
	q.closed++
	return nil
}

// On a device times are those of its queue, whatever the host's clock says.
func TestMarksInTheQueueGiveTheTimes(t *testing.T) {
	tr, pass := ticking()
	q := &queue{}
	tr.marks = q
	pass(5 * time.Millisecond)
	tr.Begin(&engine.Work{Name: "step", Kind: "step"}) // mark 0, at 0 ms
	pass(time.Millisecond)
	for range 2 {
		tr.Begin(&engine.Work{Name: "op", Kind: "op"}) // marks 1 and 3, at 1 and 6 ms
		pass(10 * time.Microsecond)
		tr.End() // marks 2 and 4, at 3 and 10 ms
	}
	tr.End() // mark 5, at 15 ms
	if q.times != 0 {
		t.Error("the device was waited for within a step")
	}
	const ms = time.Millisecond
	spans := spansOf(t, tr)
	want := []Span{
		{Start: 5 * ms, Time: 15 * ms, Inner: 6 * ms, Asked: 5 * ms, Asking: ms + 20*time.Microsecond, around: -1},
		{Start: 6 * ms, Time: 2 * ms, Depth: 1, Asked: 6 * ms, Asking: 10 * time.Microsecond},
		{Start: 11 * ms, Time: 4 * ms, Depth: 1, Asked: 6*ms + 10*time.Microsecond, Asking: 10 * time.Microsecond},
	}
	for i, s := range spans {
		s.Work = nil
		if s != want[i] {
			t.Errorf("span %d: got %+v, want %+v", i, s, want[i])
		}
	}
	var out strings.Builder
	if err := tr.WriteChrome(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"ph":"M","ts":0,"pid":1,"tid":1,"args":{"name":"queue of the device"}`, `"tid":2,"args":{"name":"calls by the host"}`,
		`"ts":6000,"dur":2000,"pid":1,"tid":1`, `"ts":6000,"dur":10,"pid":1,"tid":2`,
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %s in %s", part, out.String())
		}
	}
	if err := tr.Close(); err != nil || q.closed != 1 {
		t.Errorf("closed %d times, %v", q.closed, err)
	}
}

func TestManyMarksAreReadBetweenSteps(t *testing.T) {
	tr, _ := ticking()
	q := &queue{}
	tr.marks = q
	const steps = 3
	for range steps {
		tr.Begin(&engine.Work{Kind: "step"})
		for range maxMarks / 2 {
			tr.Begin(&engine.Work{Kind: "op"})
			tr.End()
		}
		tr.End()
	}
	if q.times != steps {
		t.Errorf("marks were read %d times, want %d", q.times, steps)
	}
	spans := spansOf(t, tr)
	if q.times != steps {
		t.Error("marks were read without any")
	}
	// The k-th operation of all steps begins at mark k0 and ends at the next, k0+1 ms later.
	if s := spans[len(spans)-1]; s.Time != time.Duration(q.marks-2)*time.Millisecond {
		t.Errorf("the last operation took %v, want %d ms", s.Time, q.marks-2)
	}
}

func TestADeviceThatCannotSayItsTimesIsAnError(t *testing.T) {
	failure := errors.New("device lost")
	tr, _ := ticking()
	tr.marks = &queue{failure: failure}
	tr.Begin(&engine.Work{Kind: "step"})
	tr.End()
	if _, err := tr.Spans(); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if err := tr.WriteChrome(new(strings.Builder)); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
