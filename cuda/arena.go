package cuda

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// Footprint returns the bytes of a tensor in an arena.
func (e *Engine) Footprint(shape ...int) (int64, error) { return footprint(device.F32, shape) }

// ActivationFootprint returns those of an activation.
func (e *Engine) ActivationFootprint(shape ...int) (int64, error) {
	return footprint(e.activation(), shape)
}

// SumsFootprint returns those of sums, which may lie there in parts.
func (e *Engine) SumsFootprint(shape ...int) (int64, error) {
	n, err := volume("footprint", shape)
	if err != nil {
		return 0, err
	}
	return aligned(4 * int64(n) * int64(kernels.MaxParts(n))), nil
}

func footprint(t device.Type, shape []int) (int64, error) {
	n, err := volume("footprint", shape)
	if err != nil {
		return 0, err
	}
	return aligned(int64(n * t.Size())), nil
}

func aligned(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

var (
	_ engine.Narrower    = (*Engine)(nil)
	_ engine.NarrowArena = (*arena)(nil)
	_ engine.SumsArena   = (*arena)(nil)
)

// arena is one block in which tensors lie where their user says.
type arena struct {
	eng   *Engine
	block block
	bytes int64
}

// Arena returns memory for tensors to lie in.
func (e *Engine) Arena(bytes int64) (engine.Arena, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("cuda: arena: %d bytes", bytes)
	}
	b, err := e.memory.take(bytes)
	if err != nil {
		return nil, fmt.Errorf("cuda: activations and gradients: %w", err)
	}
	return &arena{e, b, bytes}, nil
}

// Tensor returns the tensor that begins offset bytes into the arena.
func (a *arena) Tensor(offset int64, shape ...int) (engine.Tensor, error) {
	return a.tensor(device.F32, offset, shape)
}

// Activation returns the activation that begins there.
func (a *arena) Activation(offset int64, shape ...int) (engine.Tensor, error) {
	if a.eng == nil {
		return nil, fmt.Errorf("cuda: arena: closed")
	}
	return a.tensor(a.eng.activation(), offset, shape)
}

// Sums returns the sums that begin there.
func (a *arena) Sums(offset int64, shape ...int) (engine.Tensor, error) {
	if a.eng == nil {
		return nil, fmt.Errorf("cuda: arena: closed")
	}
	bytes, err := a.eng.SumsFootprint(shape...)
	if err != nil {
		return nil, err
	}
	if offset > a.bytes-bytes {
		return nil, fmt.Errorf("cuda: arena: sums of shape %v do not fit at offset %d of %d bytes", shape, offset, a.bytes)
	}
	x, err := a.tensor(device.F32, offset, shape)
	if err == nil {
		x.(*Tensor).sums = true
	}
	return x, err
}

func (a *arena) tensor(t device.Type, offset int64, shape []int) (engine.Tensor, error) {
	n, err := volume("arena", shape)
	if err != nil {
		return nil, err
	}
	if a.eng == nil {
		return nil, fmt.Errorf("cuda: arena: closed")
	}
	if offset < 0 || offset%alignment != 0 || offset > a.bytes-int64(n*t.Size()) {
		return nil, fmt.Errorf("cuda: arena: shape %v does not fit at offset %d of %d bytes", shape, offset, a.bytes)
	}
	return &Tensor{eng: a.eng, shape: slices.Clone(shape), size: n, typ: t, ptr: a.block.ptr + device.Ptr(offset)}, nil
}

// Close gives the memory back.
func (a *arena) Close() error {
	if a.eng != nil {
		a.eng.memory.giveBack(a.block)
		a.eng = nil
	}
	return nil
}
