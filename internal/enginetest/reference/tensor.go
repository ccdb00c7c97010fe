package reference

import (
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// tensor is numbers in the host's memory, row-major.
type tensor struct {
	shape engine.Shape
	v     []float32
}

func newTensor(shape []int, v []float32) *tensor { return &tensor{slices.Clone(shape), v} }

func (t *tensor) Shape() engine.Shape { return t.shape }
func (t *tensor) Size() int           { return len(t.v) }
