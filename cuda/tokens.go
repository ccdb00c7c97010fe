package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// sequence is the layout of tokens: batch images of prefix rows and area
// positions, of width numbers each.
type sequence struct{ batch, prefix, area, width int }

// Tokens turns a map into tokens.
func (e *Engine) Tokens(y, x, prefix, pos engine.Tensor) error {
	a := e.args("tokens")
	to := a.of("y", y, -1, -1, -1)
	if a.err != nil {
		return a.err
	}
	s := sequence{batch: to.shape[0], width: to.shape[2]}
	first := a.maybe("prefix", prefix, 1, -1, s.width)
	from, place := a.of("x", x, s.batch, s.width, -1, -1), a.maybe("pos", pos, 1, to.shape[1], s.width)
	if a.err != nil {
		return a.err
	}
	if first.there() {
		s.prefix = first.shape[1]
	}
	s.area = from.shape[2] * from.shape[3]
	a.check(s.prefix+s.area == to.shape[1], "%v has %d positions, %v takes %d behind %d rows of prefix", from, s.area, to, to.shape[1]-s.prefix, s.prefix)
	if a.apart(to, from); a.err != nil {
		return a.err
	}
	t := common(to, from)
	p := a.in(from, t)
	f, q := a.in(first, device.F32), a.in(place, device.F32)
	a.launch(kernels.Tokens(t, s.batch, s.prefix, s.area, s.width, a.out(to, t), p, f, q))
	return a.done()
}

// TokensGrad is the gradient of Tokens. Without a prefix or a map the other
// says how many rows of prefix there are; with the position embedding alone it
// makes no difference.
func (e *Engine) TokensGrad(dx, dprefix, dpos, dy engine.Tensor) error {
	a := e.args("tokens gradient")
	up := a.of("dy", dy, -1, -1, -1)
	if a.err != nil {
		return a.err
	}
	length := up.shape[1]
	s := sequence{batch: up.shape[0], width: up.shape[2]}
	from := a.maybe("dx", dx, s.batch, s.width, -1, -1)
	first := a.maybe("dprefix", dprefix, 1, -1, s.width)
	place := a.maybe("dpos", dpos, 1, length, s.width)
	if a.err != nil {
		return a.err
	}
	switch {
	case from.there():
		s.prefix = length - from.shape[2]*from.shape[3]
	case first.there():
		s.prefix = first.shape[1]
	}
	s.area = length - s.prefix
	a.check(s.prefix >= 0 && s.area >= 0, "%v does not fit %v", from, up)
	a.check(!first.there() || first.shape[1] == s.prefix, "%v, want %d rows of prefix for %v", first, s.prefix, up)
	if a.err != nil {
		return a.err
	}
	row := int64(length * s.width)
	if from.there() {
		n := int64(s.area * s.width)
		p := a.in(up, from.typ)
		a.launch(kernels.CopyRows(from.typ, int64(s.batch), n, a.out(from, from.typ), n, 0, p, row, int64(s.prefix*s.width)))
	}
	if first.there() {
		a.launch(kernels.BatchSum(up.typ, int64(s.prefix*s.width), s.batch, row, 0, a.out(first, device.F32), up.ptr))
	}
	if place.there() {
		a.launch(kernels.BatchSum(up.typ, row, s.batch, row, 0, a.out(place, device.F32), up.ptr))
	}
	return a.done()
}

// Token picks token i of every image.
func (e *Engine) Token(y, x engine.Tensor, i int) error {
	a := e.args("token")
	in := a.of("x", x, -1, -1, -1)
	if a.err != nil {
		return a.err
	}
	out := a.of("y", y, in.shape[0], in.shape[2])
	a.check(i >= 0 && i < in.shape[1], "no token %d in %v", i, in)
	if a.err != nil {
		return a.err
	}
	d := int64(in.shape[2])
	a.launch(kernels.CopyRows(in.typ, int64(in.shape[0]), d, a.out(out, in.typ), d, 0, in.ptr, int64(in.shape[1])*d, int64(i)*d))
	return a.done()
}

// TokenGrad is the gradient of Token.
func (e *Engine) TokenGrad(dx, dy engine.Tensor, i int) error {
	a := e.args("token gradient")
	to := a.of("dx", dx, -1, -1, -1)
	if a.err != nil {
		return a.err
	}
	up := a.of("dy", dy, to.shape[0], to.shape[2])
	a.check(i >= 0 && i < to.shape[1], "no token %d in %v", i, to)
	if a.err != nil {
		return a.err
	}
	d := int64(to.shape[2])
	p := a.in(up, to.typ)
	to.touched()
	a.failed(e.driver.Clear(to.ptr, (int64(to.size*to.typ.Size())+3)/4*4, e.compute))
	a.launch(kernels.CopyRows(to.typ, int64(to.shape[0]), d, to.ptr, int64(to.shape[1])*d, int64(i)*d, p, d, 0))
	return a.done()
}
