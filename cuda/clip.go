package cuda

import (
	"errors"
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// norms is where the norms of gradients arrive.
type norms struct {
	mailbox
	squares device.Ptr // float64, and behind it the factor, float32
}

func (n *norms) open(e *Engine) error {
	if n.squares == 0 {
		b, err := e.memory.take(16)
		if err != nil {
			return err
		}
		n.squares = b.ptr
	}
	return n.mailbox.open(e.driver)
}

// clipped is a gradient whose norm the device knows, or will.
type clipped struct {
	eng    *Engine
	number int // of the norm
	clip   kernels.Clip
}

var _ engine.Clipper = (*Engine)(nil)

// Clip measures a gradient on the device.
func (e *Engine) Clip(xs []engine.Tensor, norm, value float64) (engine.Clipped, error) {
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
	number, err := n.post(e.driver, n.squares, 8, e.compute)
	a.failed(err)
	return &clipped{e, number, kernels.Clip{Factor: factor, Limit: float32(value)}}, a.err
}

// Norm waits until it has arrived.
func (c *clipped) Norm() (float64, error) {
	p, err := c.eng.norms.read(c.eng.driver, c.number)
	if err != nil {
		return 0, fmt.Errorf("cuda: clip: the norm: %w", err)
	}
	return math.Sqrt(*(*float64)(p)), nil
}

// latest says whether the factor on the device is still this gradient's.
func (c *clipped) latest() error {
	if c.number != c.eng.norms.posted {
		return errors.New("cuda: clip: another gradient has been clipped since")
	}
	return nil
}

// SGD updates every slot, in one launch.
func (c *clipped) SGD(slots []engine.Slot, spec engine.SGDSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.sgd(slots, spec, c.clip)
}

// AdamW updates every slot, in one launch.
func (c *clipped) AdamW(slots []engine.Slot, spec engine.AdamWSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.adamW(slots, spec, c.clip)
}

// RMSprop updates every slot, in one launch.
func (c *clipped) RMSprop(slots []engine.Slot, spec engine.RMSpropSpec) error {
	if err := c.latest(); err != nil {
		return err
	}
	return c.eng.rmsprop(slots, spec, c.clip)
}
