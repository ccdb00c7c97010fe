package reference

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// array is an argument of an operation. The zero array stands for nil.
type array struct {
	name  string
	shape []int
	v     []float32
}

func (a array) String() string { return fmt.Sprintf("%s %v", a.name, a.shape) }

// at returns the position of an element of a four-dimensional array.
func (a array) at(n, c, h, w int) int {
	return ((n*a.shape[1]+c)*a.shape[2]+h)*a.shape[3] + w
}

// row returns row i of a matrix in float64.
func (a array) row(i int) []float64 {
	h := a.shape[1]
	r := make([]float64, h)
	for j := range r {
		r[j] = float64(a.v[i*h+j])
	}
	return r
}

// call gathers the arguments of an operation and keeps the first complaint.
type call struct {
	op  string
	err error
}

func (c *call) check(ok bool, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("reference: "+c.op+": "+format, args...)
	}
}

// any unwraps a tensor of any shape.
func (c *call) any(name string, t engine.Tensor) array {
	d, ok := t.(*tensor)
	if !ok || d == nil {
		c.check(false, "%s is %T, want a tensor of this engine", name, t)
		return array{name: name}
	}
	return array{name, d.shape, d.v}
}

// of unwraps a tensor of the given shape, in which -1 stands for any dimension.
func (c *call) of(name string, t engine.Tensor, shape ...int) array {
	a := c.any(name, t)
	if c.err != nil {
		return a
	}
	fits := len(a.shape) == len(shape)
	for i := 0; fits && i < len(shape); i++ {
		fits = shape[i] < 0 || a.shape[i] == shape[i]
	}
	c.check(fits, "%v, want shape %v", a, shape)
	return a
}

// maybe is of for a tensor that may be nil.
func (c *call) maybe(name string, t engine.Tensor, shape ...int) array {
	if isNil(t) {
		return array{}
	}
	return c.of(name, t, shape...)
}

func isNil(t engine.Tensor) bool {
	d, ok := t.(*tensor)
	return t == nil || ok && d == nil
}

func (c *call) same(a, b array) {
	c.check(slices.Equal(a.shape, b.shape), "%v and %v differ in shape", a, b)
}

// images unwraps a tensor of shape (N, C, H, W).
func (c *call) images(name string, t engine.Tensor) array { return c.of(name, t, -1, -1, -1, -1) }
