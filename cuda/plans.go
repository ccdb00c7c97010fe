package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// planKey is a convolution in one direction.
type planKey struct {
	dir  device.Direction
	conv device.Conv
}

// String is "forward of 128x3x224x224 (bf16) with 64 kernels 7x7, stride 2x2, padding 3x3".
func (k planKey) String() string {
	c := k.conv
	kind := "kernels"
	if c.Depthwise {
		kind = "depthwise kernels"
	}
	return fmt.Sprintf("%v of %dx%dx%dx%d (%v) with %d %s %dx%d, stride %dx%d, padding %dx%d",
		k.dir, c.N, c.C, c.H, c.W, c.Type, c.K, kind, c.R, c.S, c.StrideH, c.StrideW, c.PadH, c.PadW)
}

// plan is a choice of cuDNN's, or why a kernel of our own convolves.
type plan struct {
	device.Plan
	fallBack error
	// overwrites says that the algorithm adds to no tensor.
	overwrites bool
}

// plan returns the choice for a convolution, which is made when it is first asked for.
// Only where cuDNN has no algorithm is it a kernel of our own, which takes up to a
// hundred times as long: that is counted, and warned of. All else that cuDNN reports
// is an error, and the next call asks it again.
func (e *Engine) plan(key planKey, o device.Operands) (plan, error) {
	if p, ok := e.plans[key]; ok {
		return p, nil
	}
	if err := e.attend(); err != nil {
		return plan{}, err
	}
	if err := e.workspace(); err != nil {
		return plan{}, err
	}
	chosen, err := e.dnn.Plan(key.dir, key.conv, o, e.work.ptr, e.work.bytes)
	p := plan{Plan: chosen}
	switch {
	case errors.Is(err, device.ErrNoAlgorithm):
		p = plan{fallBack: err}
		e.opt.warn(fmt.Sprintf("a convolution is computed without cuDNN, by a kernel that may take a hundred times as long: %v: %v", key, err))
	case err != nil:
		return plan{}, fmt.Errorf("%v: %w", key, err)
	}
	e.plans[key] = p
	return p, nil
}

// workspace takes the memory that convolutions work in, and attention.
func (e *Engine) workspace() error {
	if e.work.ptr != 0 {
		return nil
	}
	if err := e.attend(); err != nil {
		return err
	}
	_, total, err := e.driver.Free()
	if err != nil {
		return err
	}
	e.work, err = e.memory.take(e.opt.workspace(total))
	return err
}

// Convolution is a convolution of one shape and direction, and how it is computed.
type Convolution struct {
	// Shape names direction, sizes and type.
	Shape string
	// Algorithm is cuDNN's number of the chosen algorithm among those of the
	// direction, Math how it multiplies, Workspace the bytes that it needs, and Millis
	// what it took when it was tried, 0 if it was not.
	Algorithm int
	Math      string
	Workspace int64
	Millis    float64
	// WithoutCuDNN is why a kernel of the engine's own computes it, else nil.
	WithoutCuDNN error
}

// Convolutions lists those that were asked for so far, by their shapes.
func (e *Engine) Convolutions() []Convolution {
	var list []Convolution
	for key, p := range e.plans {
		list = append(list, Convolution{key.String(), p.Algorithm, p.Math, p.Workspace, p.Millis, p.fallBack})
	}
	slices.SortFunc(list, func(a, b Convolution) int { return cmp.Compare(a.Shape, b.Shape) })
	return list
}

// PlainConvolutions counts the shapes and directions for which cuDNN has no algorithm
// and that a kernel of the engine's own computes.
func (e *Engine) PlainConvolutions() (n int) {
	for _, p := range e.plans {
		if p.fallBack != nil {
			n++
		}
	}
	return n
}
