package layers

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/vernier-ml/vernier/engine"
)

// value is an engine's tensor as Gorgonia's tape machine passes it on. Of a value
// the machine only asks for the type and the shape: the numbers are the engine's.
type value struct{ engine.Tensor }

var _ gorgonia.Value = (*value)(nil)

// Shape hides that of the tensor.
func (v *value) Shape() tensor.Shape { return tensor.Shape(v.Tensor.Shape()) }

// Dtype is float32, whatever the storage: that is what engines read and write.
func (v *value) Dtype() tensor.Dtype { return tensor.Float32 }

// Type is a tensor of float32.
func (v *value) Type() hm.Type { return typeOf(v.Shape()) }

// Data is nil: Graph.Engine reads the numbers.
func (v *value) Data() any { return nil }

// Uintptr is 0: only the engine knows where the numbers lie.
func (v *value) Uintptr() uintptr { return 0 }

// MemSize is the size in bytes as float32.
func (v *value) MemSize() uintptr { return 4 * uintptr(v.Size()) }

// Format prints the shape, not the numbers.
func (v *value) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "tensor of shape %v", v.Shape()) }

// typeOf is Gorgonia's type of a float32 tensor.
func typeOf(shape tensor.Shape) hm.Type {
	if shape.Dims() == 0 {
		return tensor.Float32
	}
	return gorgonia.TensorType{Dims: shape.Dims(), Of: tensor.Float32}
}
