package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

func TestPaceOfLongItemsFallsWhileTheyRun(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	p := startPace(start, 0)
	if d, ok := p.left(at(5), 18); ok {
		t.Errorf("before anything is done: %v", d)
	}
	p.note(at(10), 2)
	p.note(at(10), 1) // late news of another goroutine
	for _, c := range []struct{ now, want int }{{10, 80}, {15, 75}, {19, 71}} {
		if d, ok := p.left(at(c.now), 18); !ok || d != time.Duration(c.want)*time.Minute {
			t.Errorf("after %d minutes: %v, %v, want %d minutes", c.now, d, ok, c.want)
		}
	}
	if d, ok := p.left(at(95), 18); ok {
		t.Errorf("an item beyond the time of all: %v", d)
	}
}

func TestPaceOfAResumedTaskCountsWhatItDidItself(t *testing.T) {
	start := time.Unix(1000, 0)
	p := startPace(start, 40)
	p.note(start.Add(2*time.Second), 42)
	if d, ok := p.left(start.Add(2*time.Second), 46); !ok || d != 4*time.Second {
		t.Errorf("4 steps of a second are left: %v, %v", d, ok)
	}
}

func TestReporterCountsWhereTheTotalIsNotKnown(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	now := time.Unix(1000, 0)
	r := &Reporter{log: log, every: 5 * time.Second, now: func() time.Time { return now }}
	for seconds, want := range map[int]string{0: "", 1: "", 3: `listing files  3000"`} {
		now = time.Unix(1000, 0)
		r.clear()
		r.Listing("listing files", 1, 0)
		now = now.Add(time.Duration(seconds) * time.Second)
		out.Reset()
		r.Listing("listing files", 1000*seconds, 0)
		if line := out.String(); want == "" && line != "" || !strings.Contains(line, want) {
			t.Errorf("after %d s: %q, want %q", seconds, line, want)
		}
	}
	if r.Listing("listing files", 3001, 3001); r.task != "" {
		t.Error("the task continues after its end")
	}
}

func TestReporterLines(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	now := time.Unix(1000, 0)
	r := &Reporter{log: log, every: 5 * time.Second, now: func() time.Time { return now }}
	for _, c := range []struct {
		seconds, done int
		want          string // of the line, "" for none
	}{
		{0, 0, ""}, {1, 0, ""}, {3, 0, `runs  a  0/4"`}, {6, 0, ""}, {10, 1, `runs  a  1/4  about 30s left"`}, {12, 1, ""}, {20, 2, `runs  a  2/4  about 20s left"`},
		{100, 2, `runs  a  2/4"`}, {110, 4, ""},
	} {
		now = time.Unix(1000, 0).Add(time.Duration(c.seconds) * time.Second)
		out.Reset()
		r.Progress("runs", c.done, 4, "a")
		if line := out.String(); c.want == "" && line != "" || !strings.Contains(line, c.want) {
			t.Errorf("after %d s: %q, want %q", c.seconds, line, c.want)
		}
	}
}
