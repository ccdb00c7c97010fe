//go:build gpu && linux && cgo

package gpu

import (
	"math"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// NewStream returns a stream that does not wait for the default one.
func (d *Driver) NewStream() (s device.Stream, err error) {
	err = d.within("cuStreamCreate", func() error {
		c, err := cu.MakeStream(cu.NonBlocking)
		if err == nil {
			s = device.Stream(uintptr(unsafe.Pointer(c.C())))
			d.streams[s] = c
		}
		return err
	})
	return s, err
}

// ReleaseStream ends a stream.
func (d *Driver) ReleaseStream(s device.Stream) error {
	c := d.streams[s]
	delete(d.streams, s)
	return d.within("cuStreamDestroy", c.Destroy)
}

// Synchronize waits until a stream is done.
func (d *Driver) Synchronize(s device.Stream) error {
	return d.within("cuStreamSynchronize", d.streams[s].Synchronize)
}

// NewEvent returns an event that keeps no time, which makes it cheaper.
func (d *Driver) NewEvent() (device.Event, error) { return d.newEvent(cu.DisableTiming) }

// NewTimedEvent returns an event that keeps its time.
func (d *Driver) NewTimedEvent() (device.Event, error) { return d.newEvent(cu.DefaultEvent) }

func (d *Driver) newEvent(flags cu.EventFlags) (e device.Event, err error) {
	err = d.within("cuEventCreate", func() error {
		c, err := cu.MakeEvent(flags)
		if err == nil {
			e = device.Event(len(d.events) + 1)
			for { // numbers of events that are gone may be in between
				if _, taken := d.events[e]; !taken {
					break
				}
				e++
			}
			d.events[e] = c
		}
		return err
	})
	return e, err
}

// Elapsed is the time between two events. The driver gives it in milliseconds, as
// float32, to half a microsecond.
func (d *Driver) Elapsed(from, to device.Event) (t time.Duration, err error) {
	err = d.within("cuEventElapsedTime", func() error {
		ms, err := d.events[from].Elapsed(d.events[to])
		t = time.Duration(math.Round(ms * float64(time.Millisecond)))
		return err
	})
	return t, err
}

// ReleaseEvent forgets an event.
func (d *Driver) ReleaseEvent(e device.Event) error {
	c := d.events[e]
	delete(d.events, e)
	return d.within("cuEventDestroy", func() error { return cu.DestroyEvent(&c) })
}

// Record marks a point in a stream.
func (d *Driver) Record(e device.Event, s device.Stream) error {
	return d.within("cuEventRecord", func() error { return d.events[e].Record(d.streams[s]) })
}

// Wait makes a stream wait for an event.
func (d *Driver) Wait(s device.Stream, e device.Event) error {
	return d.within("cuStreamWaitEvent", func() error { return d.streams[s].Wait(d.events[e], 0) })
}

// SynchronizeEvent waits for an event.
func (d *Driver) SynchronizeEvent(e device.Event) error {
	return d.within("cuEventSynchronize", d.events[e].Synchronize)
}

// BeginCapture makes a stream record.
func (d *Driver) BeginCapture(s device.Stream) error {
	return d.within("recording", func() error { return d.set.Driver.BeginCapture(uintptr(s)) })
}

// EndCapture returns what was recorded.
func (d *Driver) EndCapture(s device.Stream) (g device.Graph, err error) {
	err = d.within("recording", func() error {
		h, err := d.set.Driver.EndCapture(uintptr(s))
		g = device.Graph(h)
		return err
	})
	return g, err
}

// LaunchGraph runs what was recorded.
func (d *Driver) LaunchGraph(g device.Graph, s device.Stream) error {
	return d.within("replaying", func() error { return d.set.Driver.LaunchGraph(uintptr(g), uintptr(s)) })
}

// ReleaseGraph forgets it.
func (d *Driver) ReleaseGraph(g device.Graph) error {
	return d.within("a recording", func() error { return d.set.Driver.ReleaseGraph(uintptr(g)) })
}
