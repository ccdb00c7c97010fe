package reference

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

func volume(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 1 || n > math.MaxInt32/d {
			return 0, fmt.Errorf("shape %v, want positive dimensions and less than 2^31 elements", shape)
		}
		n *= d
	}
	return n, nil
}

// Footprint returns the bytes of a tensor in an arena.
func (Engine) Footprint(shape ...int) (int64, error) {
	n, err := volume(shape)
	if err != nil {
		return 0, fmt.Errorf("reference: footprint: %w", err)
	}
	return 4 * int64(n), nil
}

type arena []float32

// Arena returns memory for tensors to lie in.
func (Engine) Arena(bytes int64) (engine.Arena, error) {
	if bytes < 0 || bytes > math.MaxInt32 {
		return nil, fmt.Errorf("reference: an arena of %d bytes", bytes)
	}
	return arena(make([]float32, bytes/4)), nil
}

// Tensor returns the tensor that begins offset bytes into the arena.
func (a arena) Tensor(offset int64, shape ...int) (engine.Tensor, error) {
	n, err := volume(shape)
	if err != nil {
		return nil, fmt.Errorf("reference: arena: %w", err)
	}
	at := int(offset / 4)
	if offset < 0 || offset%4 != 0 || at+n > len(a) {
		return nil, fmt.Errorf("reference: arena: shape %v does not fit at offset %d of %d bytes", shape, offset, 4*len(a))
	}
	return newTensor(shape, a[at:at+n:at+n]), nil
}

// Close does nothing.
func (arena) Close() error { return nil }
