package cpu

import (
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/engine"
)

// view is an argument as the operations see it.
type view struct {
	name  string
	v     []float32
	shape []int
	of    *Tensor
}

func (x view) is(shape ...int) bool {
	if len(x.shape) != len(shape) {
		return false
	}
	for i, d := range shape {
		if x.shape[i] != d {
			return false
		}
	}
	return true
}

func (x view) String() string { return fmt.Sprintf("%s %s", x.name, shapeString(x.shape)) }

// args collects the arguments of one operation and keeps the first error.
type args struct {
	op  string
	err error
}

func (a *args) fail(format string, v ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("cpu: %s: "+format, append([]any{a.op}, v...)...)
	}
}

// get unwraps t, which must not be nil and must have rank dimensions, or any
// number if rank is negative. It takes it that the operation will write t, and drops what
// was packed of it; an operation that does not may say so by source.
func (a *args) get(name string, t engine.Tensor, rank int) view {
	x := a.source(name, t, rank)
	if x.of != nil {
		x.of.written()
	}
	return x
}

// source is get for a tensor that the operation only reads. It matters for weights: what
// is kept of them outlives the operation.
func (a *args) source(name string, t engine.Tensor, rank int) view {
	d, ok := t.(*Tensor)
	switch {
	case t == nil || ok && d == nil:
		a.fail("%s is nil", name)
		return view{name: name}
	case !ok:
		a.fail("%s is a %T, want a *cpu.Tensor", name, t)
		return view{name: name}
	}
	x := view{name: name, v: d.v, shape: d.shape, of: d}
	if rank >= 0 && len(x.shape) != rank {
		a.fail("%v has %d dimensions, want %d", x, len(x.shape), rank)
	}
	return x
}

// maybe is get for an argument that may be nil; it then returns an empty view.
func (a *args) maybe(name string, t engine.Tensor, rank int) view {
	if isNil(t) {
		return view{name: name}
	}
	return a.get(name, t, rank)
}

func isNil(t engine.Tensor) bool {
	d, ok := t.(*Tensor)
	return t == nil || ok && d == nil
}

// want demands a shape of x, which follows from the argument because.
func (a *args) want(x, because view, shape ...int) {
	if a.err == nil && x.v != nil && !x.is(shape...) {
		a.fail("%v does not fit %v: want %s", x, because, shapeString(shape))
	}
}

// same demands equal shapes.
func (a *args) same(x, y view) { a.want(x, y, y.shape...) }

// apart demands that dst shares no memory with any of the sources.
func (a *args) apart(dst view, srcs ...view) {
	for _, s := range srcs {
		if a.err == nil && overlap(dst.v, s.v) {
			a.fail("%v and %v share memory", dst, s)
		}
	}
}

func overlap(x, y []float32) bool {
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&y[0]))
	return p < q+4*uintptr(len(y)) && q < p+4*uintptr(len(x))
}

func volume(shape []int) int { return engine.Shape(shape).Size() }

// shapeString prints (2, 3, 4).
func shapeString(shape []int) string { return engine.Shape(shape).String() }
