package cpu

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Concat joins xs along axis 1.
func (e *Engine) Concat(y engine.Tensor, xs ...engine.Tensor) error {
	a := args{op: "concat"}
	d := a.get("y", y, -1)
	if a.err == nil && len(d.shape) < 2 {
		a.fail("%v has no axis 1", d)
	}
	if a.err == nil && len(xs) == 0 {
		a.fail("nothing to join into %v", d)
	}
	if a.err != nil {
		return a.err
	}
	parts, total := make([]view, len(xs)), 0
	for i, x := range xs {
		parts[i] = a.get(fmt.Sprintf("x[%d]", i), x, len(d.shape))
		if a.err != nil {
			return a.err
		}
		a.besides1(parts[i], d)
		a.apart(d, parts[i])
		total += parts[i].shape[1]
	}
	if a.err == nil && total != d.shape[1] {
		a.fail("the parts have %d channels in all, %v has %d", total, d, d.shape[1])
	}
	if a.err != nil {
		return a.err
	}
	area := volume(d.shape[2:])
	e.pool.run(d.shape[0], func(_, n int) {
		to := d.v[n*total*area:]
		for _, p := range parts {
			size := p.shape[1] * area
			copy(to[:size], p.v[n*size:])
			to = to[size:]
		}
	})
	return nil
}

// Slice copies channels [from, from+C) of y into x, which has C channels.
func (e *Engine) Slice(x, y engine.Tensor, from int) error {
	a := args{op: "slice"}
	d, s := a.part("x", x, "y", y, from)
	if a.err != nil {
		return a.err
	}
	part, whole := volume(d.shape[1:]), volume(s.shape[1:])
	at := from * volume(s.shape[2:])
	e.pool.run(s.shape[0], func(_, n int) {
		copy(d.v[n*part:(n+1)*part], s.v[n*whole+at:])
	})
	return nil
}

// SliceReLUGrad takes channels [from, from+C) of dy where y is above 0.
func (e *Engine) SliceReLUGrad(dx, dy, y engine.Tensor, from int) error {
	a := args{op: "slice of a relu gradient"}
	d, u := a.part("dx", dx, "dy", dy, from)
	s := a.get("y", y, -1)
	a.same(u, s)
	a.apart(d, s)
	if a.err != nil {
		return a.err
	}
	part, whole := volume(d.shape[1:]), volume(s.shape[1:])
	at := from * volume(s.shape[2:])
	e.pool.run(s.shape[0], func(_, n int) {
		e.kernels.reluGrad(d.v[n*part:(n+1)*part], u.v[n*whole+at:][:part], s.v[n*whole+at:][:part])
	})
	return nil
}

// part demands that channels [from, from+C) of whole fit x, which has C.
func (a *args) part(name string, x engine.Tensor, wholeName string, whole engine.Tensor, from int) (d, s view) {
	s = a.get(wholeName, whole, -1)
	if a.err == nil && len(s.shape) < 2 {
		a.fail("%v has no axis 1", s)
	}
	d = a.get(name, x, len(s.shape))
	if a.err != nil {
		return d, s
	}
	a.besides1(d, s)
	if c := d.shape[1]; a.err == nil && (from < 0 || from+c > s.shape[1]) {
		a.fail("channels [%d, %d) asked of %v for %v", from, from+c, s, d)
	}
	a.apart(d, s)
	return d, s
}

// besides1 demands that the shapes of x and y agree in every axis but axis 1.
func (a *args) besides1(x, y view) {
	for i, n := range x.shape {
		if i != 1 && n != y.shape[i] {
			a.fail("%v does not fit %v: axis %d differs", x, y, i)
		}
	}
}
