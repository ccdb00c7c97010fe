package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.Marker = (*Engine)(nil)

// queueMarks are timed events in the stream of computation.
type queueMarks struct {
	eng    *Engine
	set    []device.Event // whose times have not been asked for
	free   []device.Event
	origin device.Event  // the last one whose time is known; 0 for none
	at     time.Duration // its time
}

// Marks waits for the device and returns marks in its queue.
func (e *Engine) Marks() (engine.Marks, error) { return &queueMarks{eng: e}, e.Synchronize() }

// Mark sets a mark behind all that was asked for. The host takes no part in it: work
// between two marks may be recorded later.
func (m *queueMarks) Mark() (err error) {
	a := m.eng.args("mark")
	if a.check(!m.eng.recording, "work is being recorded"); a.err != nil {
		return a.err
	}
	var e device.Event
	if n := len(m.free); n > 0 {
		e, m.free = m.free[n-1], m.free[:n-1]
	} else if e, err = m.eng.driver.NewTimedEvent(); err != nil {
		a.failed(err)
		return a.err
	}
	m.set = append(m.set, e)
	a.failed(m.eng.driver.Record(e, m.eng.compute))
	return a.err
}

// Times waits for the device and returns the times of marks. Each is measured from the
// last mark of the call before, since the driver's times of long spans are coarse.
func (m *queueMarks) Times() ([]time.Duration, error) {
	if err := m.eng.Synchronize(); err != nil {
		return nil, err
	}
	if len(m.set) == 0 {
		return nil, nil
	}
	if m.origin == 0 {
		m.origin = m.set[0]
	}
	list := make([]time.Duration, 0, len(m.set))
	for _, e := range m.set {
		passed := time.Duration(0)
		if e != m.origin {
			var err error
			if passed, err = m.eng.driver.Elapsed(m.origin, e); err != nil {
				return nil, fmt.Errorf("cuda: time of a mark: %w", err)
			}
		}
		list = append(list, m.at+passed)
	}
	last := len(m.set) - 1
	if m.origin != m.set[0] {
		m.free = append(m.free, m.origin)
	}
	m.free = append(m.free, m.set[:last]...)
	m.origin, m.at, m.set = m.set[last], list[last], m.set[:0]
	return list, nil
}

// Close gives the events back.
func (m *queueMarks) Close() error {
	if m.eng.driver == nil { // closed, and its events with it
		return nil
	}
	list := append(m.set, m.free...)
	if m.origin != 0 {
		list = append(list, m.origin)
	}
	errs := []error{m.eng.Synchronize()}
	for _, e := range list {
		errs = append(errs, m.eng.driver.ReleaseEvent(e))
	}
	m.set, m.free, m.origin = nil, nil, 0
	return errors.Join(errs...)
}
