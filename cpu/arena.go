package cpu

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/vernier-ml/vernier/engine"
)

// alignment of tensors in an arena, in bytes: a vector of AVX-512 and a cache
// line.
const alignment = 64

// elements returns the number of elements of a shape of positive dimensions.
func elements(op string, shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 1 {
			return 0, fmt.Errorf("cpu: %s: shape %s, want positive dimensions", op, shapeString(shape))
		}
		if d > math.MaxInt/4/n {
			return 0, fmt.Errorf("cpu: %s: shape %s is too large for memory", op, shapeString(shape))
		}
		n *= d
	}
	return n, nil
}

// Footprint returns the bytes of a tensor in an arena.
func (e *Engine) Footprint(shape ...int) (int64, error) {
	n, err := elements("footprint", shape)
	if err != nil {
		return 0, err
	}
	return (4*int64(n) + alignment - 1) / alignment * alignment, nil
}

// arena is a slice whose first element is aligned.
type arena struct {
	v    []float32
	give func() error // back to the system, or nil
}

// Arena returns memory for tensors to lie in.
func (e *Engine) Arena(bytes int64) (engine.Arena, error) {
	if bytes < 0 || bytes > math.MaxInt-alignment {
		return nil, fmt.Errorf("cpu: an arena of %d bytes", bytes)
	}
	n := int((bytes + 3) / 4)
	v, give, err := arenaMemory(n + alignment/4)
	if err != nil {
		return nil, fmt.Errorf("cpu: arena: %w", err)
	}
	preferHugePages(v)
	skip := 0
	for uintptr(unsafe.Pointer(&v[skip]))%alignment != 0 {
		skip++
	}
	return &arena{v[skip : skip+n], give}, nil
}

// Tensor returns the tensor that begins offset bytes into the arena.
func (a *arena) Tensor(offset int64, shape ...int) (engine.Tensor, error) {
	n, err := elements("arena", shape)
	if err != nil {
		return nil, err
	}
	if offset < 0 || offset%alignment != 0 {
		return nil, fmt.Errorf("cpu: arena: offset %d, want a multiple of %d", offset, alignment)
	}
	from := offset / 4
	if from > int64(len(a.v)) || int64(n) > int64(len(a.v))-from {
		return nil, fmt.Errorf("cpu: arena: shape %s at offset %d reaches beyond %d bytes", shapeString(shape), offset, 4*len(a.v))
	}
	return &Tensor{shape: slices.Clone(shape), v: a.v[from : from+int64(n) : from+int64(n)]}, nil
}

// Close gives the memory back.
func (a *arena) Close() error {
	give := a.give
	a.v, a.give = nil, nil
	if give == nil {
		return nil
	}
	return give()
}
