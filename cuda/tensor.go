package cuda

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// Tensor is numbers in device memory. Its shape is the logical one, (N, C, H, W)
// for images; in memory four axes lie as (N, H, W, C), all others row-major.
type Tensor struct {
	eng   *Engine
	shape engine.Shape
	size  int
	ptr   device.Ptr
	typ   device.Type
	// shadow is what the host wrote last, while no one has written since: reading
	// it back needs no device.
	shadow []float32
	// sums has room for kernels.MaxParts parts of the numbers, and parts is how many
	// of them were left there: 0 and 1 are the numbers themselves.
	sums   bool
	parts  int
	places places // see attended
	// width, unless it is 0, is how far the rows of channels of a part of a larger map
	// are apart, see Part.
	width int
}

// Shape returns the logical shape.
func (t *Tensor) Shape() engine.Shape { return t.shape }

// Size is the number of elements.
func (t *Tensor) Size() int { return t.size }

// Format prints shape and address, not the numbers.
func (t *Tensor) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%v %v at %#x", t.typ, t.shape, uintptr(t.ptr))
}

// touched notes that the device is about to write.
func (t *Tensor) touched() {
	t.shadow, t.parts = nil, 0
	if e := t.eng; e.recording {
		e.written = append(e.written, t)
	}
}

// channels returns the tensor as images: n of hw positions with c channels. Any
// tensor that does not have four axes is the same in both orders.
func (t *Tensor) channels() (n, c, hw int) {
	if len(t.shape) != 4 {
		return 1, 1, t.size
	}
	return t.shape[0], t.shape[1], t.shape[2] * t.shape[3]
}

// planar reports whether the order in memory is that of the logical shape.
func (t *Tensor) planar() bool {
	_, c, hw := t.channels()
	return c == 1 || hw == 1
}

// lower is what makes arrays smaller.
const lower = "take smaller batches, smaller images, or parts of a batch (micro-batches); of a gallery, parts of it; or compute on the CPU"

// volume returns the number of elements of a shape. Kernels, and the libraries,
// count the numbers of an array in 31 bits.
func volume(op string, shape []int) (int, error) {
	n, large := 1, false
	for _, d := range shape {
		if d < 1 {
			return 0, fmt.Errorf("cuda: %s: shape %v, want positive dimensions", op, shape)
		}
		if large = large || n > kernels.MaxNumbers/d; !large {
			n *= d
		}
	}
	if large {
		return 0, fmt.Errorf("cuda: %s: an array of shape %v has %.4g numbers, the GPU engine takes %d at most in one: %s",
			op, shape, product64(shape), kernels.MaxNumbers, lower)
	}
	return n, nil
}

func product64(shape []int) float64 {
	n := 1.0
	for _, d := range shape {
		n *= float64(d)
	}
	return n
}

// New returns a zeroed tensor. Its memory returns to the engine when the tensor
// is no longer reachable.
func (e *Engine) New(shape ...int) (engine.Tensor, error) { return e.make(device.F32, shape) }

// NewActivation is New for what an operation passes on to others, which BF16
// stores as bfloat16.
func (e *Engine) NewActivation(shape ...int) (engine.Tensor, error) {
	return e.make(e.activation(), shape)
}

// activation is how maps and tokens are stored.
func (e *Engine) activation() device.Type {
	if e.opt.Precision == BF16 {
		return device.BF16
	}
	return device.F32
}

func (e *Engine) make(typ device.Type, shape []int) (engine.Tensor, error) {
	size, err := volume("new", shape)
	if err != nil {
		return nil, err
	}
	t := &Tensor{eng: e, shape: slices.Clone(shape), size: size, typ: typ}
	bytes := aligned(int64(size * typ.Size()))
	block, err := e.memory.take(bytes)
	if err != nil {
		return nil, fmt.Errorf("cuda: new: a tensor of shape %v: %w", shape, err)
	}
	t.ptr = block.ptr
	runtime.AddCleanup(t, e.memory.giveBack, block)
	if err := e.driver.Clear(t.ptr, bytes, e.compute); err != nil {
		return nil, fmt.Errorf("cuda: new: %w", err)
	}
	return t, nil
}
