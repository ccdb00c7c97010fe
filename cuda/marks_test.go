//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
)

// scaling is a tensor and work on it that takes one launch.
func scaling(t *testing.T, e *Engine) func() {
	t.Helper()
	x, err := e.New(100)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := e.Scale(x, x, 2); err != nil {
			t.Fatal(err)
		}
	}
}

// By the clock of the fake device each launch takes a microsecond. Its stream does its
// work late, as the queue of a real one does.
func TestMarksAreTimesOfTheDevicesQueue(t *testing.T) {
	e, d, _ := newFake(t, Options{})
	d.Lazy = map[device.Stream]bool{e.compute: true}
	work := scaling(t, e)
	work()
	m, err := e.Marks()
	if err != nil {
		t.Fatal(err)
	}
	synchronized := d.Calls["Synchronize"]
	mark := func() {
		t.Helper()
		if err := m.Mark(); err != nil {
			t.Fatal(err)
		}
	}
	for turn, c := range []struct {
		launches []int // before each mark
		want     []time.Duration
	}{{[]int{3, 1, 0, 3}, []time.Duration{0, 1, 1, 4}}, {[]int{2, 1}, []time.Duration{6, 7}}, {[]int{1}, []time.Duration{8}}, {}} {
		want := c.want
		for _, n := range c.launches {
			for range n {
				work()
			}
			mark()
		}
		if d.Calls["Synchronize"] != synchronized {
			t.Errorf("turn %d: a mark waits for the device", turn)
		}
		got, err := m.Times()
		if err != nil {
			t.Fatal(err)
		}
		synchronized = d.Calls["Synchronize"]
		if len(got) != len(want) {
			t.Fatalf("turn %d: %d times, want %d", turn, len(got), len(want))
		}
		for k := range want {
			if got[k] != want[k]*fake.Tick {
				t.Errorf("turn %d: mark %d at %v, want %v", turn, k, got[k], want[k]*fake.Tick)
			}
		}
	}
	if made := d.Calls["NewEvent"]; made > 2*(smallPlaces+largePlaces)+4+1 {
		t.Errorf("%d events were made: those of marks are not used again", made)
	}
	before := d.Leaked()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if after := d.Leaked(); after == before {
		t.Errorf("closing gives no event back: %s", after)
	}
}

func TestMarksAreNotRecorded(t *testing.T) {
	e, _, _ := newFake(t, Options{})
	m, err := e.Marks()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	attended := e.Attended()
	if err := m.Mark(); err != nil || e.Attended() != attended {
		t.Errorf("%v; the host took part %d times", err, e.Attended()-attended)
	}
	if _, err := e.Record(m.Mark); err == nil || !strings.Contains(err.Error(), "is being recorded") {
		t.Errorf("recording a mark: %v", err)
	}
}

// An observed step leaves the number of recordings and the loss as they are without.
func TestAStepWithMarksIsTheStepWithoutThem(t *testing.T) {
	var losses [2][]float64
	for i, observed := range []bool{false, true} {
		e, _, _ := newFake(t, Options{})
		n := newTrainer(t, e)
		for step := range 6 {
			if observed && step < 4 { // before and after the recording
				m, err := e.Marks()
				if err != nil {
					t.Fatal(err)
				}
				o := &marking{t: t, marks: m}
				n.g.Observe(o)
				losses[i] = append(losses[i], n.step(t))
				n.g.Observe(nil)
				times, err := m.Times()
				if err != nil || len(times) != o.marked {
					t.Errorf("%d times of %d marks, %v", len(times), o.marked, err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			losses[i] = append(losses[i], n.step(t))
		}
		for n.steps < 9 { // observed runs record nothing
			n.step(t)
		}
		if stretches, refusal := n.g.Recorded(); stretches != 2 || refusal != nil {
			t.Errorf("observed is %v: %d recordings, %v", observed, stretches, refusal)
		}
	}
	for step, want := range losses[0] {
		if losses[1][step] != want {
			t.Errorf("step %d: the loss is %v, want %v", step, losses[1][step], want)
		}
	}
}

// marking sets a mark at both ends of each piece of work.
type marking struct {
	t      *testing.T
	marks  engine.Marks
	marked int
}

func (m *marking) Begin(*engine.Work) { m.End() }

func (m *marking) End() {
	if err := m.marks.Mark(); err != nil {
		m.t.Error(err)
	}
	m.marked++
}
