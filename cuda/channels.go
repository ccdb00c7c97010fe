package cuda

import (
	"slices"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// strips is a tensor along axis 1 as rows of channels times what lies inside:
// images have their channels last, all else keeps its order.
func strips(x named) (rows int64, inside int) {
	if len(x.shape) == 4 {
		return int64(x.shape[0]) * int64(x.shape[2]) * int64(x.shape[3]), 1
	}
	return int64(x.shape[0]), x.size / x.shape[0] / x.shape[1]
}

// fitsChannels demands that part is like whole in all but the channels.
func (a *args) fitsChannels(part, whole named) {
	if a.err != nil {
		return
	}
	ok := len(whole.shape) >= 2 && len(part.shape) == len(whole.shape) && part.shape[0] == whole.shape[0] && slices.Equal(part.shape[2:], whole.shape[2:])
	a.check(ok, "%v and %v differ in more than channels", part, whole)
}

// Concat joins xs along axis 1.
func (e *Engine) Concat(y engine.Tensor, xs ...engine.Tensor) error {
	a := e.args("concat")
	out := a.any("y", y)
	a.check(len(xs) > 0, "nothing to join")
	parts := make([]named, len(xs))
	total := 0
	for i, x := range xs {
		parts[i] = a.wholeOrPart("x", x)
		if a.fitsChannels(parts[i], out); a.err != nil {
			return a.err
		}
		total += parts[i].shape[1]
	}
	a.check(a.err != nil || total == out.shape[1], "%v is given %d channels", out, total)
	if a.err != nil {
		return a.err
	}
	rows, inside := strips(out)
	width, from := int64(out.shape[1]*inside), int64(0)
	p := a.out(out, out.typ)
	for _, x := range parts {
		n := int64(x.shape[1] * inside)
		if x.width > 0 { // it is there
			here := out.ptr + device.Ptr(from*int64(out.typ.Size()))
			a.check(x.width == out.shape[1] && x.typ == out.typ && x.ptr == here, "%v is a part of another map or of other channels than %v", x, out)
			from += n
			continue
		}
		a.launch(kernels.CopyRows(out.typ, rows, n, p, width, from, a.in(x, out.typ), n, 0))
		from += n
	}
	return a.done()
}

var _ engine.Joiner = (*Engine)(nil)

// Part returns channels of a map in its memory.
func (e *Engine) Part(y engine.Tensor, from, c int) (engine.Tensor, error) {
	a := e.args("part")
	whole := a.images("y", y)
	a.check(a.err != nil || c > 0 && from >= 0 && from <= whole.shape[1]-c, "%d channels from channel %d of %v", c, from, whole)
	if a.err != nil {
		return nil, a.err
	}
	n, _, hw := whole.channels()
	shape := slices.Clone(whole.shape)
	shape[1] = c
	return &Tensor{
		eng: e, shape: shape, size: n * c * hw, typ: whole.typ, width: whole.shape[1], ptr: whole.ptr + device.Ptr(from*whole.typ.Size()),
	}, nil
}

// ConcatGrad sets the gradients of the inputs of a concatenation.
func (e *Engine) ConcatGrad(inputs []engine.ConcatInput, dy, y engine.Tensor) error {
	a := e.args("concat gradient")
	up := a.images("dy", dy)
	var out named
	if a.err == nil {
		out = a.maybe("y", y, up.shape...)
	}
	total, grads, sums := 0, make([]named, len(inputs)), make([]named, len(inputs))
	for i, in := range inputs {
		a.check(in.C > 0, "an input of %d channels", in.C)
		a.check(!in.Rectified || out.there(), "y is missing, and an input is rectified")
		if a.err != nil {
			return a.err
		}
		shape := slices.Clone(up.shape)
		shape[1] = in.C
		grads[i], sums[i] = a.maybe("dx", in.DX, shape...), a.maybe("sums", in.Sums, in.C)
		a.check(grads[i].there() || !sums[i].there(), "%v are of no gradient", sums[i])
		a.apart(grads[i], up, out)
		total += in.C
	}
	if a.check(a.err != nil || total == up.shape[1], "%v, want the %d channels of the inputs", up, total); a.err != nil {
		return a.err
	}
	t := common(append(grads, up, out)...)
	p, q := a.in(up, t), a.in(out, t)
	rows, from := int64(up.size/up.shape[1]), 0
	for first := 0; first < len(inputs); first += kernels.MaxConcatParts {
		var parts []kernels.ConcatPart
		var end []kernels.Launch
		here := device.Ptr(from * t.Size())
		for i := first; i < min(len(inputs), first+kernels.MaxConcatParts); i++ {
			in := inputs[i]
			count, _ := kernels.Parts(rows, in.C)
			s := a.sumsTo(sums[i], count, in.C)
			parts = append(parts, kernels.ConcatPart{DX: a.out(grads[i], t), Sums: s.part, C: in.C, Rectified: in.Rectified})
			end = append(end, s.end...)
			from += in.C
		}
		at := q
		if at != 0 {
			at += here
		}
		a.launch(kernels.ConcatGrad(t, rows, up.shape[1], p+here, at, parts))
		a.launch(end...)
	}
	return a.done()
}

// slice checks arguments of a part of channels from a whole.
func (a *args) slice(part, whole named, from int) {
	if a.fitsChannels(part, whole); a.err == nil {
		a.check(from >= 0 && from <= whole.shape[1]-part.shape[1], "%v from channel %d of %v", part, from, whole)
	}
}

// Slice copies channels [from, from+C) of y into x.
func (e *Engine) Slice(x, y engine.Tensor, from int) error {
	a := e.args("slice")
	part, whole := a.any("x", x), a.any("y", y)
	if a.slice(part, whole, from); a.err != nil {
		return a.err
	}
	rows, inside := strips(whole)
	n, width := int64(part.shape[1]*inside), int64(whole.shape[1]*inside)
	p := a.in(whole, part.typ)
	a.launch(kernels.CopyRows(part.typ, rows, n, a.out(part, part.typ), n, 0, p, width, int64(from*inside)))
	return a.done()
}

// SliceReLUGrad is Slice and then ReLUGrad.
func (e *Engine) SliceReLUGrad(dx, dy, y engine.Tensor, from int) error {
	a := e.args("slice of a relu gradient")
	part, up, out := a.any("dx", dx), a.any("dy", dy), a.any("y", y)
	a.same(up, out)
	if a.slice(part, up, from); a.err != nil {
		return a.err
	}
	rows, inside := strips(up)
	n, width := int64(part.shape[1]*inside), int64(up.shape[1]*inside)
	t := common(part, up, out)
	p, q := a.in(up, t), a.in(out, t)
	a.launch(kernels.SliceReLUGrad(t, rows, n, a.out(part, t), p, q, width, int64(from*inside)))
	return a.done()
}
