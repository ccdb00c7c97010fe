package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/layers"
)

// norms is where the norms of gradients arrive: what a step leaves on the device
// goes to pinned memory behind it, and nobody waits.
type norms struct {
	squares device.Ptr     // float64, and behind it the factor, float32
	host    unsafe.Pointer // of keptNorms float64
	arrived [keptNorms]device.Event
	taken   int // norms so far
}

// keptNorms is how many norms are kept.
const keptNorms = 4

func (n *norms) open(e *Engine) error {
	if n.host != nil {
		return nil
	}
	b, err := e.memory.take(16)
	if err != nil {
		return err
	}
	n.squares = b.ptr
	for i := range n.arrived {
		if n.arrived[i], err = e.driver.NewEvent(); err != nil {
			return err
		}
	}
	n.host, err = e.driver.AllocHost(8 * keptNorms)
	return err
}

func (n *norms) close(d device.Driver) error {
	var errs []error
	for _, e := range n.arrived {
		if e != 0 {
			errs = append(errs, d.ReleaseEvent(e))
		}
	}
	if n.host != nil {
		errs = append(errs, d.ReleaseHost(n.host))
	}
	return errors.Join(errs...)
}

// clipped is a gradient whose norm the device knows, or will.
type clipped struct {
	eng    *Engine
	number int // of the norm
	clip   kernels.Clip
}

var _ layers.Clipper = (*Engine)(nil)

// Clip measures a gradient on the device.
func (e *Engine) Clip(xs []layers.Tensor, norm, value float64) (layers.Clipped, error) {
	a := e.args("clip")
	a.check(norm >= 0 && value >= 0, "limits of %v for the norm and %v for elements, want 0 or more", norm, value)
	slots := a.plain(xs)
	a.check(a.err != nil || len(slots) > 0, "no gradients")
	if a.err != nil {
		return nil, a.err
	}
	if a.failed(e.attend()); a.err == nil {
		a.failed(e.norms.open(e))
	}
	t, p := a.table(slots)
	part := a.scratch(8 * int64(t.chunks))
	n := &e.norms
	factor := n.squares + 8
	a.launch(kernels.ClipFactor(t.chunks, t.slots, t.parts, part, n.squares, factor, float32(norm))...)
	a.consumed(p)
	if a.err != nil {
		return nil, a.err
	}
	at := n.taken % keptNorms
	a.failed(e.driver.Download(unsafe.Add(n.host, 8*at), n.squares, 8, e.compute))
	if a.err == nil {
		a.failed(e.driver.Record(n.arrived[at], e.compute))
	}
	n.taken++
	return &clipped{e, n.taken, kernels.Clip{Factor: factor, Limit: float32(value)}}, a.err
}

// Norm waits until it has arrived.
func (c *clipped) Norm() (float64, error) {
	n := &c.eng.norms
	if n.taken-c.number >= keptNorms {
		return 0, fmt.Errorf("cuda: clip: the norm is asked for after %d others, %d are kept", n.taken-c.number, keptNorms)
	}
	at := (c.number - 1) % keptNorms
	if err := c.eng.driver.SynchronizeEvent(n.arrived[at]); err != nil {
		return 0, fmt.Errorf("cuda: clip: %w", err)
	}
	return math.Sqrt(*(*float64)(unsafe.Add(n.host, 8*at))), nil
}

// latest says whether the factor on the device is still this gradient's.
func (c *clipped) latest() error {
	if c.number != c.eng.norms.taken {
		return errors.New("cuda: clip: another gradient has been clipped since")
	}
	return nil
}

// SGD updates every slot, in one launch.
func (c *clipped) SGD(slots []layers.Slot, spec layers.SGDSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.sgd(slots, spec, c.clip)
}

// AdamW updates every slot, in one launch.
func (c *clipped) AdamW(slots []layers.Slot, spec layers.AdamWSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.adamW(slots, spec, c.clip)
}

// RMSprop updates every slot, in one launch.
func (c *clipped) RMSprop(slots []layers.Slot, spec layers.RMSpropSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.rmsprop(slots, spec, c.clip)
}
