package cpu

import "github.com/vernier-ml/vernier/engine"

// Tensor is numbers in the host's memory, row-major.
type Tensor struct {
	shape engine.Shape
	v     []float32
}

// Shape returns the logical shape, which is that in memory.
func (t *Tensor) Shape() engine.Shape { return t.shape }

// Size is the number of elements.
func (t *Tensor) Size() int { return len(t.v) }
