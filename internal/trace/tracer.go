package trace

import (
	"errors"
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/engine"
)

// Span is the time of a piece of work.
type Span struct {
	Work  *engine.Work
	Start time.Duration // since the tracer was made
	Time  time.Duration // with that of the work inside
	Inner time.Duration // of the work directly inside
	Depth int           // the pieces of work around it
	// Asked is when the host asked a device for the work, and Asking how long that
	// took; Start and Time are when the device came to it, and how long it was at it.
	// Without marks in a device's queue they are equal.
	Asked, Asking time.Duration

	around int // index of the span that it is directly inside; -1 for none
}

// Self is the time that passed outside of the work inside.
func (s Span) Self() time.Duration { return s.Time - s.Inner }

// Tracer is an engine.Observer that takes the time of every piece of work. It belongs to
// one goroutine.
type Tracer struct {
	clock  func() time.Duration
	wait   func() error // nil where a call returns when its work is done
	marks  engine.Marks // nil where times are by the clock
	spans  []Span
	open   []int     // spans that have not ended, the outermost first
	marked []endMark // marks whose times have not been read
	zero   time.Duration
	err    error
}

// endMark says which end of which span a mark in the queue stands at.
type endMark struct {
	span int
	last bool
}

// maxMarks is the number of marks after which the tracer waits for the device when a
// step has ended, to use them again.
const maxMarks = 1 << 14

// New makes a tracer of the work of an engine. Times are by the clock, on an
// engine.Marker by marks in the device's queue, on another engine.Device by the clock
// after waiting for the device at both ends of each piece of work.
func New(eng engine.Engine) (*Tracer, error) {
	start := time.Now()
	t := &Tracer{clock: func() time.Duration { return time.Since(start) }}
	var err error
	switch e := eng.(type) {
	case engine.Marker:
		if t.marks, err = e.Marks(); err != nil {
			return nil, fmt.Errorf("marks in the device's queue: %w", err)
		}
	case engine.Device:
		t.wait = e.Synchronize
	}
	return t, nil
}

// now waits and reads the clock.
func (t *Tracer) now() time.Duration {
	if t.wait != nil {
		t.keep(t.wait())
	}
	return t.clock()
}

// keep keeps the first error.
func (t *Tracer) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

// mark puts a mark into the queue of a device that has marks.
func (t *Tracer) mark(span int, last bool) {
	if t.marks == nil || t.err != nil {
		return
	}
	if err := t.marks.Mark(); err != nil {
		t.keep(err)
		return
	}
	t.marked = append(t.marked, endMark{span, last})
}

// Begin starts a span inside of those that have not ended.
func (t *Tracer) Begin(w *engine.Work) {
	i, around := len(t.spans), -1
	if n := len(t.open); n > 0 {
		around = t.open[n-1]
	}
	now := t.now()
	if i == 0 {
		t.zero = now // the queue of a device is empty: its first mark is now
	}
	t.spans = append(t.spans, Span{Work: w, Depth: len(t.open), Start: now, Asked: now, around: around})
	t.open = append(t.open, i)
	t.mark(i, false)
}

// End ends the span that began last.
func (t *Tracer) End() {
	last := len(t.open) - 1
	i := t.open[last]
	t.open = t.open[:last]
	t.mark(i, true)
	s := &t.spans[i]
	s.Asking = t.now() - s.Asked
	s.Time = s.Asking
	if last == 0 && len(t.marked) >= maxMarks {
		t.settle()
	}
}

// settle waits for the device and takes the times of marks.
func (t *Tracer) settle() {
	if t.marks == nil || len(t.marked) == 0 || t.err != nil {
		return
	}
	times, err := t.marks.Times()
	if err == nil && len(times) != len(t.marked) {
		err = fmt.Errorf("the device has times of %d marks, want %d", len(times), len(t.marked))
	}
	if err != nil {
		t.keep(err)
		return
	}
	for i, m := range t.marked {
		s, at := &t.spans[m.span], t.zero+times[i]
		if m.last {
			s.Time = at - s.Start
		} else {
			s.Start = at
		}
	}
	t.marked = t.marked[:0]
}

// Spans waits for the device, if there is one, and returns the spans in the order in
// which they began. The error is the first of the device.
func (t *Tracer) Spans() ([]Span, error) {
	t.settle()
	for i := range t.spans {
		t.spans[i].Inner = 0
	}
	for _, s := range t.spans {
		if s.around >= 0 {
			t.spans[s.around].Inner += s.Time
		}
	}
	return t.spans, t.err
}

// Close releases the marks. The tracer must not be used any more.
func (t *Tracer) Close() error {
	if t.marks == nil {
		return nil
	}
	err := t.marks.Close()
	t.marks, t.err = nil, errors.New("the tracer is closed")
	return err
}
