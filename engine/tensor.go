package engine

import (
	"fmt"
	"strings"
)

// Tensor is a dense float32 array that an Engine made. Its shape is the logical,
// row-major one (NCHW for images); where and in which physical order the numbers
// lie is the engine's business, so the host sees them only by Engine.Read and
// Write. A tensor belongs to the engine that made it.
type Tensor interface {
	// Shape returns the logical shape, which must not be changed. A scalar has none.
	Shape() Shape
	// Size is the number of elements, 1 of a scalar.
	Size() int
}

// Shape lists the dimensions of a tensor.
type Shape []int

// Size is the product of the dimensions: the number of elements.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// String is "(2, 3)".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte(')')
	return b.String()
}
