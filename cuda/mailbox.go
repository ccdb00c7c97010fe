package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
)

// mailbox is pinned memory in which numbers arrive behind the work that makes them;
// only who asks for one waits.
type mailbox struct {
	host    unsafe.Pointer // of keptNumbers words
	arrived [keptNumbers]device.Event
	posted  int // numbers so far
}

const (
	keptNumbers = 4
	wordBytes   = 8 // of one, at the most
)

func (m *mailbox) open(d device.Driver) (err error) {
	if m.host != nil {
		return nil
	}
	for i := range m.arrived {
		if m.arrived[i] == 0 {
			if m.arrived[i], err = d.NewEvent(); err != nil {
				return err
			}
		}
	}
	m.host, err = d.AllocHost(wordBytes * keptNumbers)
	return err
}

func (m *mailbox) close(d device.Driver) error {
	var errs []error
	for _, e := range m.arrived {
		if e != 0 {
			errs = append(errs, d.ReleaseEvent(e))
		}
	}
	if m.host != nil {
		errs = append(errs, d.ReleaseHost(m.host))
	}
	return errors.Join(errs...)
}

// post sends bytes, a word at the most, and returns the number of the letter.
func (m *mailbox) post(d device.Driver, src device.Ptr, bytes int64, s device.Stream) (number int, err error) {
	at := m.posted % keptNumbers
	if err := d.Download(unsafe.Add(m.host, wordBytes*at), src, bytes, s); err != nil {
		return 0, err
	}
	m.posted++
	return m.posted, d.Record(m.arrived[at], s)
}

// read waits for a letter.
func (m *mailbox) read(d device.Driver, number int) (unsafe.Pointer, error) {
	if late := m.posted - number; late >= keptNumbers {
		return nil, fmt.Errorf("it is asked for after %d others, %d are kept", late, keptNumbers)
	}
	at := (number - 1) % keptNumbers
	return unsafe.Add(m.host, wordBytes*at), d.SynchronizeEvent(m.arrived[at])
}

var _ engine.Later = (*Engine)(nil)

// ReadLater reads the one element of x.
func (e *Engine) ReadLater(x engine.Tensor) (func() (float64, error), error) {
	a := e.args("read later")
	s := a.any("x", x)
	a.check(a.err != nil || s.size == 1 && s.typ == device.F32, "%v, want one float32 number", s)
	if a.failed(e.attend()); a.err == nil {
		a.failed(e.numbers.open(e.driver))
	}
	if a.err != nil {
		return nil, a.err
	}
	number, err := e.numbers.post(e.driver, s.ptr, 4, e.compute)
	a.failed(err)
	return func() (float64, error) {
		p, err := e.numbers.read(e.driver, number)
		if err != nil {
			return 0, fmt.Errorf("cuda: read later: %w", err)
		}
		return float64(*(*float32)(p)), nil
	}, a.err
}
