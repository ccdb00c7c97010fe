//go:build cgo && linux && (amd64 || arm64)

package fake

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// queue is what a stream has been asked for.
type queue struct {
	commands    []func() error // that are not done
	asked, done int
}

// node is a command of a recording.
type node struct {
	name string // of the kernel, or of the call
	run  func() error
}

// Nodes counts the nodes of all graphs by name.
func (d *Driver) Nodes() map[string]int {
	count := map[string]int{}
	for _, g := range d.graphs {
		for _, n := range g {
			count[n.name]++
		}
	}
	return count
}

// mark is a point in a stream, as the number of commands before it. The zero mark
// is none.
type mark struct {
	stream device.Stream
	at     int
}

// until runs a stream up to a mark.
func (d *Driver) until(m mark) error {
	q := d.streams[m.stream]
	for q != nil && q.done < m.at {
		f := q.commands[0]
		q.commands = q.commands[1:]
		q.done++ // f may come back to this stream, for what was before it
		if err := d.touch(f); err != nil {
			return err
		}
	}
	return nil
}

// NewStream returns a stream.
func (d *Driver) NewStream() (device.Stream, error) {
	if err := d.forbidden("NewStream"); err != nil {
		return 0, err
	}
	s := device.Stream(d.handle())
	d.streams[s] = &queue{}
	return s, nil
}

// ReleaseStream ends a stream.
func (d *Driver) ReleaseStream(s device.Stream) error {
	if err := d.stopping("ReleaseStream"); err != nil {
		return err
	}
	if d.streams[s] == nil {
		return errors.New("release of no stream")
	}
	delete(d.streams, s)
	return nil
}

// Synchronize does all that a stream was asked for.
func (d *Driver) Synchronize(s device.Stream) error {
	if err := d.forbidden("Synchronize"); err != nil {
		return err
	}
	q := d.streams[s]
	if q == nil {
		return fmt.Errorf("Synchronize: %d is no stream", s)
	}
	return d.until(mark{s, q.asked})
}

// NewEvent returns an event that has not happened.
func (d *Driver) NewEvent() (device.Event, error) {
	if err := d.forbidden("NewEvent"); err != nil {
		return 0, err
	}
	e := device.Event(d.handle())
	d.events[e] = mark{}
	return e, nil
}

// NewTimedEvent returns one that keeps when it happens.
func (d *Driver) NewTimedEvent() (device.Event, error) {
	e, err := d.NewEvent()
	if err == nil {
		d.timed[e] = true
	}
	return e, err
}

// Elapsed is the time between two events by the device's own clock.
func (d *Driver) Elapsed(from, to device.Event) (time.Duration, error) {
	if err := d.call("Elapsed"); err != nil {
		return 0, err
	}
	start, ok := d.times[from]
	end, also := d.times[to]
	if !ok || !also {
		return 0, fmt.Errorf("events %d and %d have not both happened, or keep no time", from, to)
	}
	return end - start, nil
}

// ReleaseEvent forgets an event.
func (d *Driver) ReleaseEvent(e device.Event) error {
	if err := d.forbidden("ReleaseEvent"); err != nil {
		return err
	}
	if _, ok := d.events[e]; !ok {
		return errors.New("release of no event")
	}
	delete(d.events, e)
	delete(d.timed, e)
	delete(d.times, e)
	return nil
}

// Record marks a point in a stream.
func (d *Driver) Record(e device.Event, s device.Stream) error {
	if q := d.streams[s]; q != nil && d.recording != s {
		d.events[e] = mark{s, q.asked + 1}
	}
	delete(d.times, e)
	return d.do("Record", s, func() error {
		if d.timed[e] {
			d.times[e] = d.now
		}
		return nil
	})
}

// Wait checks that the event was recorded, and does what comes before it first.
func (d *Driver) Wait(s device.Stream, e device.Event) error {
	m, err := d.recorded(e)
	if err != nil {
		return err
	}
	return d.do("Wait", s, func() error { return d.until(m) })
}

func (d *Driver) recorded(e device.Event) (mark, error) {
	m := d.events[e]
	if m == (mark{}) {
		return m, fmt.Errorf("event %d is waited for before it is recorded", e)
	}
	return m, nil
}

// SynchronizeEvent does the same at once.
func (d *Driver) SynchronizeEvent(e device.Event) error {
	if err := d.forbidden("SynchronizeEvent"); err != nil {
		return err
	}
	m, err := d.recorded(e)
	if err != nil {
		return err
	}
	return d.until(m)
}

// owns reports whether device memory holds that many bytes at p.
func (d *Driver) owns(p device.Ptr, bytes int64) bool {
	_, err := d.memory(p, bytes)
	return err == nil
}

// memory is bytes of device memory.
func (d *Driver) memory(p device.Ptr, bytes int64) ([]byte, error) {
	i, found := slices.BinarySearch(d.sorted, uintptr(p))
	if !found {
		i--
	}
	if i >= 0 {
		m := d.mappings[d.sorted[i]]
		if from := uintptr(p) - d.sorted[i]; from+uintptr(bytes) <= uintptr(len(m)) {
			return m[from : from+uintptr(bytes)], nil
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not device memory", bytes, uintptr(p))
}

// Upload copies from pinned memory.
func (d *Driver) Upload(dst device.Ptr, src unsafe.Pointer, bytes int64, s device.Stream) error {
	d.Bytes["Upload"] += bytes
	return d.do("Upload", s, func() error {
		to, err := d.memory(dst, bytes)
		if err == nil {
			copy(to, unsafe.Slice((*byte)(src), bytes))
		}
		return err
	})
}

// Download copies to the host.
func (d *Driver) Download(dst unsafe.Pointer, src device.Ptr, bytes int64, s device.Stream) error {
	d.Bytes["Download"] += bytes
	return d.do("Download", s, func() error {
		from, err := d.memory(src, bytes)
		if err == nil {
			copy(unsafe.Slice((*byte)(dst), bytes), from)
		}
		return err
	})
}

// Copy copies within device memory.
func (d *Driver) Copy(dst, src device.Ptr, bytes int64, s device.Stream) error {
	return d.do("Copy", s, func() error {
		to, err := d.memory(dst, bytes)
		if err != nil {
			return err
		}
		from, err := d.memory(src, bytes)
		if err == nil {
			copy(to, from)
		}
		return err
	})
}

// Clear sets device memory to 0.
func (d *Driver) Clear(p device.Ptr, bytes int64, s device.Stream) error {
	if bytes%4 != 0 {
		return fmt.Errorf("clear %d bytes, which are no words", bytes)
	}
	return d.do("Clear", s, func() error {
		m, err := d.memory(p, bytes)
		clear(m)
		return err
	})
}

// BeginCapture starts recording a stream.
func (d *Driver) BeginCapture(s device.Stream) error {
	if err := d.forbidden("BeginCapture"); err != nil {
		return err
	}
	d.recording, d.commands = s, nil
	return nil
}

// EndCapture returns what was recorded.
func (d *Driver) EndCapture(s device.Stream) (device.Graph, error) {
	if err := d.call("EndCapture"); err != nil {
		return 0, err
	}
	if d.recording != s || s == 0 {
		return 0, errors.New("the stream is not being recorded")
	}
	g := device.Graph(d.handle())
	d.graphs[g] = d.commands
	d.recording, d.commands = 0, nil
	return g, nil
}

// LaunchGraph runs what was recorded, in order.
func (d *Driver) LaunchGraph(g device.Graph, s device.Stream) error {
	commands, ok := d.graphs[g]
	if !ok {
		return fmt.Errorf("%d is no graph", g)
	}
	return d.do("LaunchGraph", s, func() error {
		for _, n := range commands {
			if err := n.run(); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReleaseGraph forgets a recording.
func (d *Driver) ReleaseGraph(g device.Graph) error {
	if err := d.forbidden("ReleaseGraph"); err != nil {
		return err
	}
	if _, ok := d.graphs[g]; !ok {
		return errors.New("release of no graph")
	}
	delete(d.graphs, g)
	return nil
}
