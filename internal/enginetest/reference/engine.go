// Package reference is an engine.Engine to compare other engines with: float64
// sums, one plain loop per sum of the definition, one thread, no tricks. It is
// slow, and meant for tests only.
package reference

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// Engine computes the definitions of engine.Engine as they are written there.
type Engine struct{}

var _ engine.Engine = Engine{}

// New returns the engine.
func New() Engine { return Engine{} }

// Name is "reference".
func (Engine) Name() string { return "reference" }

// Info calls it a CPU's.
func (Engine) Info() engine.Info {
	return engine.Info{Kind: engine.CPU, Device: "reference", Precision: "fp32", Deterministic: true}
}

// New returns a zeroed tensor; without dimensions it is a scalar.
func (Engine) New(shape ...int) (engine.Tensor, error) {
	n, err := volume(shape)
	if err != nil {
		return nil, fmt.Errorf("reference: new: %w", err)
	}
	return newTensor(shape, make([]float32, n)), nil
}

// Write copies host numbers into dst.
func (Engine) Write(dst engine.Tensor, src []float32) error {
	c := call{op: "write"}
	d := c.any("dst", dst)
	c.check(len(d.v) == len(src), "%v takes %d numbers, not %d", d, len(d.v), len(src))
	if c.err == nil {
		copy(d.v, src)
	}
	return c.err
}

// Read copies src to the host.
func (Engine) Read(dst []float32, src engine.Tensor) error {
	c := call{op: "read"}
	s := c.any("src", src)
	c.check(len(s.v) == len(dst), "%v holds %d numbers, the destination takes %d", s, len(s.v), len(dst))
	if c.err == nil {
		copy(dst, s.v)
	}
	return c.err
}

// Copy copies src into dst.
func (Engine) Copy(dst, src engine.Tensor) error {
	c := call{op: "copy"}
	d, s := c.any("dst", dst), c.any("src", src)
	c.check(len(d.v) == len(s.v), "%v and %v differ in size", d, s)
	if c.err == nil {
		copy(d.v, s.v)
	}
	return c.err
}

// Zero clears dst.
func (Engine) Zero(dst engine.Tensor) error {
	c := call{op: "zero"}
	d := c.any("dst", dst)
	clear(d.v)
	return c.err
}

// Finite reports whether x holds neither NaN nor infinity.
func (Engine) Finite(x engine.Tensor) (bool, error) {
	c := call{op: "finite"}
	for _, v := range c.any("x", x).v {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return false, c.err
		}
	}
	return c.err == nil, c.err
}
