package cuda

import (
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// shadowed is the most numbers of a tensor that are kept on the host as well.
const shadowed = 64

// Write copies host numbers into dst. It does not wait for the device.
func (e *Engine) Write(dst engine.Tensor, src []float32) error {
	a := e.args("write")
	d := a.any("dst", dst)
	a.check(a.err != nil || d.size == len(src), "%v takes %d numbers, not %d", d, d.size, len(src))
	if a.err != nil {
		return a.err
	}
	if a.failed(e.attend()); a.err != nil {
		return a.err
	}
	p := a.staged(unsafe.Pointer(unsafe.SliceData(src)), 4*int64(len(src)))
	a.fromHostOrder(d, p.dev)
	a.consumed(p)
	if a.err == nil && len(src) <= shadowed {
		d.shadow = append([]float32(nil), src...)
	}
	return a.err
}

// fromHostOrder fills d from float32 numbers in the order of its logical shape.
func (a *args) fromHostOrder(d named, p device.Ptr) {
	if a.err != nil {
		return
	}
	d.touched()
	switch n, c, hw := d.channels(); {
	case !d.planar():
		a.launch(kernels.FromPlanar(d.typ, n, c, hw, d.ptr, p))
	case d.typ == device.F32:
		a.failed(a.eng.driver.Copy(d.ptr, p, 4*int64(d.size), a.eng.compute))
	default:
		a.launch(kernels.Narrow(d.typ, int64(d.size), d.ptr, p))
	}
}

// hostOrder returns the numbers of x as float32 in the order of its logical shape.
func (a *args) hostOrder(x named) device.Ptr {
	if a.err != nil {
		return 0
	}
	if x.planar() {
		return a.in(x, device.F32)
	}
	n, c, hw := x.channels()
	p := a.floats(x.size)
	a.launch(kernels.ToPlanar(x.typ, n, c, hw, p, x.ptr))
	return p
}

// Read copies src to the host.
func (e *Engine) Read(dst []float32, src engine.Tensor) error {
	a := e.args("read")
	s := a.any("src", src)
	a.check(a.err != nil || s.size == len(dst), "%v holds %d numbers, the destination takes %d", s, s.size, len(dst))
	if a.err != nil {
		return a.err
	}
	if a.failed(e.attend()); a.err != nil {
		return a.err
	}
	if s.shadow != nil {
		copy(dst, s.shadow)
		return nil
	}
	a.download(unsafe.Pointer(unsafe.SliceData(dst)), a.hostOrder(s), 4*int64(len(dst)))
	return a.err
}

// Copy copies src into dst; only their sizes must agree.
func (e *Engine) Copy(dst, src engine.Tensor) error {
	a := e.args("copy")
	d, s := a.any("dst", dst), a.any("src", src)
	a.check(a.err != nil || d.size == s.size, "%v and %v differ in size", d, s)
	if a.err != nil {
		return a.err
	}
	if e.bundle != nil {
		a.check(sameOrder(d.Tensor, s.Tensor), "%v and %v lie in different orders, which a bundle does not change", d, s)
		a.check(s.parts <= 1 || d.typ == device.F32, "%v is stored as %v, want float32 for sums", d, d.typ)
		if a.err != nil {
			return a.err
		}
		if s.parts > 1 {
			a.combine(d.ptr, s)
			d.touched()
		} else {
			a.task(kernels.CopyTask(d.typ, s.typ, d.size, d.ptr, s.ptr), d)
		}
		return a.err
	}
	if sameOrder(d.Tensor, s.Tensor) {
		if p := a.in(s, d.typ); a.err == nil {
			d.touched()
			a.failed(e.driver.Copy(d.ptr, p, int64(d.size*d.typ.Size()), e.compute))
		}
		return a.err
	}
	a.fromHostOrder(d, a.hostOrder(s))
	return a.err
}

// sameOrder reports whether equal places in memory are equal logical places.
func sameOrder(x, y *Tensor) bool {
	if x.planar() && y.planar() {
		return true
	}
	_, cx, hx := x.channels()
	_, cy, hy := y.channels()
	return len(x.shape) == len(y.shape) && cx == cy && hx == hy
}

// Zero clears dst.
func (e *Engine) Zero(dst engine.Tensor) error {
	a := e.args("zero")
	d := a.any("dst", dst)
	if a.err != nil {
		return a.err
	}
	d.touched()
	// Two numbers of two bytes make a word; memory continues to the alignment.
	a.failed(e.driver.Clear(d.ptr, (int64(d.size*d.typ.Size())+3)/4*4, e.compute))
	return a.err
}

// Finite reports whether x holds neither NaN nor infinity.
func (e *Engine) Finite(x engine.Tensor) (bool, error) {
	a := e.args("finite")
	s := a.wholeOrPart("x", x)
	if a.err != nil {
		return false, a.err
	}
	a.failed(e.attend())
	if a.err == nil {
		a.failed(e.driver.Clear(e.word.ptr, 4, e.compute))
	}
	var p device.Ptr
	if s.width > 0 {
		c := int64(s.shape[1])
		p = a.scratch(int64(s.size * s.typ.Size()))
		a.launch(kernels.CopyRows(s.typ, int64(s.size)/c, c, p, c, 0, s.ptr, int64(s.width), 0))
	} else {
		p = a.in(s, s.typ)
	}
	a.launch(kernels.NonFinite(s.typ, int64(s.size), p, e.word.ptr))
	var bad uint32
	a.download(unsafe.Pointer(&bad), e.word.ptr, 4)
	return bad == 0, a.err
}
