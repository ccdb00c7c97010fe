package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// stage carries numbers between host and device. On the way in they are copied
// to pinned memory, go from there by a stream of their own to device memory of
// their own, and only then wait for the computation: so the next batch travels
// while the present one is computed. Two places of each kind take turns.
type stage struct {
	driver device.Driver
	copy   device.Stream
	small  ring
	large  ring
	down   *place // on the way out
}

// ring is places that take turns.
type ring struct {
	places []*place
	next   int
}

// place is pinned memory, device memory, and the events that say when each may
// be used again.
type place struct {
	host     unsafe.Pointer
	dev      device.Ptr
	bytes    int64
	arrived  device.Event // in device memory: the host's is free
	consumed device.Event // by the computation: the device's is free
	used     bool
}

const (
	smallPlace  = 256 << 10 // enough for the table of 80 million parameters
	smallPlaces = 16
	largePlaces = 2
)

func newStage(d device.Driver) (*stage, error) {
	s := &stage{driver: d, down: &place{}}
	var err error
	if s.copy, err = d.NewStream(); err != nil {
		return nil, err
	}
	for i := range smallPlaces + largePlaces {
		p, err := newPlace(d)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		if i < smallPlaces {
			s.small.places = append(s.small.places, p)
		} else {
			s.large.places = append(s.large.places, p)
		}
	}
	return s, nil
}

// newPlace returns a place without memory.
func newPlace(d device.Driver) (p *place, err error) {
	p = &place{}
	if p.arrived, err = d.NewEvent(); err != nil {
		return nil, err
	}
	if p.consumed, err = d.NewEvent(); err != nil {
		return nil, errors.Join(err, d.ReleaseEvent(p.arrived))
	}
	return p, nil
}

// close gives pinned memory and events back.
func (p *place) close(d device.Driver) error {
	var errs []error
	if p.host != nil {
		errs = append(errs, d.ReleaseHost(p.host))
	}
	for _, e := range []device.Event{p.arrived, p.consumed} {
		if e != 0 {
			errs = append(errs, d.ReleaseEvent(e))
		}
	}
	return errors.Join(errs...)
}

// grow makes room for bytes bytes. Nothing uses the place any more.
func (s *stage) grow(p *place, bytes int64, alsoDevice bool) error {
	if p.bytes >= bytes {
		return nil
	}
	if p.host != nil {
		if err := s.driver.ReleaseHost(p.host); err != nil {
			return err
		}
		p.host, p.bytes = nil, 0
	}
	if p.dev != 0 {
		if err := s.driver.Release(p.dev); err != nil {
			return err
		}
		p.dev = 0
	}
	var err error
	if p.host, err = s.driver.AllocHost(bytes); err != nil {
		return err
	}
	if alsoDevice {
		if p.dev, err = s.driver.Alloc(bytes); err != nil {
			return err
		}
	}
	p.bytes = bytes
	return nil
}

// held is the device memory of all places.
func (s *stage) held() (bytes int64) {
	for _, r := range []ring{s.small, s.large} {
		for _, p := range r.places {
			if p.dev != 0 {
				bytes += p.bytes
			}
		}
	}
	return bytes
}

// send puts bytes on their way and returns the place where they arrive. The
// memory at src may be used again when it returns.
func (s *stage) send(src unsafe.Pointer, bytes int64, compute device.Stream) (*place, error) {
	r, size := &s.small, int64(smallPlace)
	if bytes > smallPlace {
		r, size = &s.large, bytes
	}
	p := r.places[r.next%len(r.places)]
	r.next++
	if p.used && p.bytes < size { // its memory is about to go
		if err := errors.Join(s.driver.SynchronizeEvent(p.arrived), s.driver.SynchronizeEvent(p.consumed)); err != nil {
			return nil, err
		}
	}
	if err := s.grow(p, size, true); err != nil {
		return nil, err
	}
	if err := s.fill(p, src, bytes); err != nil {
		return nil, err
	}
	return p, s.driver.Wait(compute, p.arrived)
}

// fill puts bytes on their way to a place with enough memory, as soon as what it
// held before has been consumed.
func (s *stage) fill(p *place, src unsafe.Pointer, bytes int64) error {
	if p.used { // a turn ago, as a rule long done
		if err := s.driver.SynchronizeEvent(p.arrived); err != nil {
			return err
		}
		if err := s.driver.Wait(s.copy, p.consumed); err != nil {
			return err
		}
	}
	p.used = true
	to, from := unsafe.Slice((*byte)(p.host), bytes), unsafe.Slice((*byte)(src), bytes)
	// A piece travels while the next one is copied.
	for at := int64(0); at < bytes; at += piece {
		end := min(at+piece, bytes)
		spread(to[at:end], from[at:end])
		if err := s.driver.Upload(p.dev+device.Ptr(at), unsafe.Add(p.host, at), end-at, s.copy); err != nil {
			return err
		}
	}
	return s.driver.Record(p.arrived, s.copy)
}

// piece is how much is copied before it is sent, in bytes.
const piece = 8 << 20

// spread copies by as many goroutines as are worth it: one does not reach the
// speed of memory.
func spread(to, from []byte) {
	const least = 1 << 20
	workers := min(4, runtime.GOMAXPROCS(0), len(to)/least)
	if workers < 2 {
		copy(to, from)
		return
	}
	var wait sync.WaitGroup
	each := (len(to) + workers - 1) / workers
	for at := 0; at < len(to); at += each {
		end := min(at+each, len(to))
		wait.Go(func() { copy(to[at:end], from[at:end]) })
	}
	wait.Wait()
}

// fetch brings bytes to the host, when all that was asked before is done.
func (s *stage) fetch(dst unsafe.Pointer, src device.Ptr, bytes int64, compute device.Stream) error {
	if err := s.grow(s.down, max(bytes, smallPlace), false); err != nil {
		return err
	}
	if err := s.driver.Download(s.down.host, src, bytes, compute); err != nil {
		return err
	}
	if err := s.driver.Synchronize(compute); err != nil {
		return err
	}
	spread(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(s.down.host), bytes))
	return nil
}

func (s *stage) close() error {
	var errs []error
	for _, p := range append(append([]*place{s.down}, s.small.places...), s.large.places...) {
		errs = append(errs, p.close(s.driver))
	}
	return errors.Join(append(errs, s.driver.ReleaseStream(s.copy))...)
}

// staged sends host memory and returns the place in device memory that it comes
// to. After what reads it there comes consumed.
func (a *args) staged(src unsafe.Pointer, bytes int64) *place {
	if a.err != nil {
		return &place{}
	}
	p, err := a.eng.stage.send(src, bytes, a.eng.compute)
	if a.failed(err); p == nil {
		return &place{}
	}
	return p
}

func (a *args) consumed(p *place) {
	if a.err == nil {
		a.failed(a.eng.driver.Record(p.consumed, a.eng.compute))
	}
}

// download brings device memory to the host and waits for it.
func (a *args) download(dst unsafe.Pointer, src device.Ptr, bytes int64) {
	if a.err == nil {
		a.failed(a.eng.stage.fetch(dst, src, bytes, a.eng.compute))
	}
}
