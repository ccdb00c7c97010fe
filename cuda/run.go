package cuda

import (
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
)

// failed keeps an error of a call.
func (a *args) failed(err error) {
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("cuda: %s: %w", a.op, err)
	}
}

// launch puts kernels into the queue unless something failed before.
func (a *args) launch(list ...kernels.Launch) {
	if len(list) > 0 {
		a.single()
	}
	for _, l := range list {
		if a.err == nil {
			a.failed(a.eng.launch(l))
		}
	}
}

// gemm puts a product into the queue.
func (a *args) gemm(g device.Gemm) {
	if a.single(); a.err == nil {
		a.failed(a.eng.blas.Gemm(g))
	}
}

// common is the type that an operation computes its maps in: bfloat16 if any of
// them is stored so.
func common(list ...named) device.Type {
	for _, x := range list {
		if x.there() && x.typ == device.BF16 {
			return device.BF16
		}
	}
	return device.F32
}

// in returns the numbers of x in the given type, converted where it is stored in
// another. It is 0 for an optional argument that is not there.
func (a *args) in(x named, t device.Type) device.Ptr {
	if !x.there() || a.err != nil {
		return 0
	}
	p := x.ptr
	if x.parts > 1 {
		p = a.floats(x.size)
		a.combine(p, x)
	}
	return a.convert(p, x.typ, t, x.size)
}

// convert returns n numbers in another type.
func (a *args) convert(p device.Ptr, from, to device.Type, n int) device.Ptr {
	if from == to || a.err != nil {
		return p
	}
	q := a.scratch(int64(n) * int64(to.Size()))
	if a.eng.bundle != nil {
		a.task(kernels.CopyTask(to, from, n, q, p))
		return q
	}
	a.launch(converted(int64(n), q, p, to))
	return q
}

func converted(n int64, to, from device.Ptr, t device.Type) kernels.Launch {
	if t == device.BF16 {
		return kernels.Narrow(device.BF16, n, to, from)
	}
	return kernels.Widen(device.BF16, n, to, from)
}

// out returns where numbers of the given type go that are to end in x. done
// converts them where x is stored in another type.
func (a *args) out(x named, t device.Type) device.Ptr {
	if !x.there() || a.err != nil {
		return 0
	}
	x.touched()
	if x.typ == t {
		return x.ptr
	}
	p := a.scratch(int64(x.size) * int64(t.Size()))
	a.after = append(a.after, converted(int64(x.size), x.ptr, p, x.typ))
	return p
}

// done ends an operation.
func (a *args) done() error {
	a.launch(a.after...)
	return a.err
}
