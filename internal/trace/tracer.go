package trace

import (
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
}

// Self is the time that passed outside of the work inside.
func (s Span) Self() time.Duration { return s.Time - s.Inner }

// Tracer is an engine.Observer that takes times by the clock. It belongs to one
// goroutine.
type Tracer struct {
	clock func() time.Duration
	wait  func() error
	spans []Span
	open  []int // spans that have not ended, the outermost first
	err   error
}

// New makes a tracer. wait, of an engine whose calls come back before the work is done,
// returns when it is done and is called before every look at the clock; nil for other
// engines.
func New(wait func() error) *Tracer {
	start := time.Now()
	return &Tracer{clock: func() time.Duration { return time.Since(start) }, wait: wait}
}

// now waits and reads the clock. The first error of waiting is kept.
func (t *Tracer) now() time.Duration {
	if t.wait != nil {
		if err := t.wait(); err != nil && t.err == nil {
			t.err = err
		}
	}
	return t.clock()
}

// Begin starts a span inside of those that have not ended.
func (t *Tracer) Begin(w *engine.Work) {
	t.spans = append(t.spans, Span{Work: w, Depth: len(t.open), Start: t.now()})
	t.open = append(t.open, len(t.spans)-1)
}

// End ends the span that began last.
func (t *Tracer) End() {
	last := len(t.open) - 1
	s := &t.spans[t.open[last]]
	s.Time = t.now() - s.Start
	t.open = t.open[:last]
	if last > 0 {
		t.spans[t.open[last-1]].Inner += s.Time
	}
}

// Spans returns the spans in the order in which they began, and the first error of
// waiting for the engine.
func (t *Tracer) Spans() ([]Span, error) { return t.spans, t.err }
