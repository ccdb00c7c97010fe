package reference

import (
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// Add sets dst = a + b.
func (Engine) Add(dst, a, b engine.Tensor) error {
	c := call{op: "add"}
	d, x, y := c.any("dst", dst), c.any("a", a), c.any("b", b)
	c.same(d, x)
	c.same(d, y)
	if c.err != nil {
		return c.err
	}
	for i := range d.v {
		d.v[i] = x.v[i] + y.v[i]
	}
	return nil
}

// Scale sets dst = s * a.
func (Engine) Scale(dst, a engine.Tensor, s float32) error {
	c := call{op: "scale"}
	d, x := c.any("dst", dst), c.any("a", a)
	c.same(d, x)
	if c.err != nil {
		return c.err
	}
	for i := range d.v {
		d.v[i] = s * x.v[i]
	}
	return nil
}

// ReLU sets y = max(x, 0).
func (Engine) ReLU(y, x engine.Tensor) error {
	c := call{op: "relu"}
	out, in := c.any("y", y), c.any("x", x)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	for i, v := range in.v {
		out.v[i] = max(v, 0) // NaN stays NaN
	}
	return nil
}

// ReLU6 sets y = min(max(x, 0), 6).
func (Engine) ReLU6(y, x engine.Tensor) error {
	c := call{op: "relu6"}
	out, in := c.any("y", y), c.any("x", x)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	for i, v := range in.v {
		out.v[i] = min(max(v, 0), engine.Ceiling6) // NaN stays NaN
	}
	return nil
}

// ReLU6Grad sets dx = dy where 0 < y < 6, else 0.
func (Engine) ReLU6Grad(dx, dy, y engine.Tensor) error {
	c := call{op: "relu6 gradient"}
	to, from, out := c.any("dx", dx), c.any("dy", dy), c.any("y", y)
	c.same(to, from)
	c.same(to, out)
	if c.err != nil {
		return c.err
	}
	for i, v := range out.v {
		if v > 0 && v < engine.Ceiling6 {
			to.v[i] = from.v[i]
		} else {
			to.v[i] = 0
		}
	}
	return nil
}

// ReLUGrad sets dx = dy where y > 0, else 0.
func (Engine) ReLUGrad(dx, dy, y engine.Tensor) error {
	c := call{op: "relu gradient"}
	to, from, out := c.any("dx", dx), c.any("dy", dy), c.any("y", y)
	c.same(to, from)
	c.same(to, out)
	if c.err != nil {
		return c.err
	}
	for i, v := range out.v {
		if v > 0 {
			to.v[i] = from.v[i]
		} else {
			to.v[i] = 0
		}
	}
	return nil
}

// MatMul sets or adds to c = op(a) op(b).
func (Engine) MatMul(c, a, b engine.Tensor, transA, transB, accumulate bool) error {
	k := call{op: "matmul"}
	out, x, y := k.of("c", c, -1, -1), k.of("a", a, -1, -1), k.of("b", b, -1, -1)
	if k.err != nil {
		return k.err
	}
	m, inner := x.shape[0], x.shape[1]
	if transA {
		m, inner = inner, m
	}
	inner2, n := y.shape[0], y.shape[1]
	if transB {
		inner2, n = n, inner2
	}
	k.check(inner == inner2, "op(a) is (%d, %d) and op(b) (%d, %d)", m, inner, inner2, n)
	k.of("c", c, m, n)
	if k.err != nil {
		return k.err
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			if accumulate {
				sum = float64(out.v[i*n+j])
			}
			for l := range inner {
				p, q := i*inner+l, l*n+j
				if transA {
					p = l*m + i
				}
				if transB {
					q = j*inner + l
				}
				sum += float64(x.v[p]) * float64(y.v[q])
			}
			out.v[i*n+j] = float32(sum)
		}
	}
	return nil
}

// Linear sets y = x w^T + bias.
func (Engine) Linear(y, x, w, bias engine.Tensor) error {
	c := call{op: "linear"}
	in, rows, width := c.lines("x", x, 2)
	weight := c.of("w", w, -1, -1)
	if c.err != nil {
		return c.err
	}
	out := weight.shape[0]
	c.check(weight.shape[1] == width, "%v and %v differ in width", in, weight)
	dst, shift := c.of("y", y, withLast(in.shape, out)...), c.maybe("bias", bias, out)
	if c.err != nil {
		return c.err
	}
	for i := range rows {
		for j := range out {
			sum := 0.0
			if shift.v != nil {
				sum = float64(shift.v[j])
			}
			for l := range width {
				sum += float64(in.v[i*width+l]) * float64(weight.v[j*width+l])
			}
			dst.v[i*out+j] = float32(sum)
		}
	}
	return nil
}

// withLast returns a shape with another last axis.
func withLast(shape []int, last int) []int {
	return append(slices.Clone(shape[:len(shape)-1]), last)
}

// LinearGrad is the gradient of Linear.
func (Engine) LinearGrad(dx, dw, dbias, dy, x, w engine.Tensor) error {
	c := call{op: "linear gradient"}
	in, rows, width := c.lines("x", x, 2)
	weight := c.of("w", w, -1, -1)
	if c.err != nil {
		return c.err
	}
	out := weight.shape[0]
	c.check(weight.shape[1] == width, "%v and %v differ in width", in, weight)
	up := c.of("dy", dy, withLast(in.shape, out)...)
	to, toW := c.maybe("dx", dx, in.shape...), c.maybe("dw", dw, out, width)
	shift := c.maybe("dbias", dbias, out)
	if c.err != nil {
		return c.err
	}
	for i := range to.v {
		sum := 0.0
		for j := range out {
			sum += float64(up.v[i/width*out+j]) * float64(weight.v[j*width+i%width])
		}
		to.v[i] = float32(sum)
	}
	for i := range toW.v {
		sum := 0.0
		for r := range rows {
			sum += float64(up.v[r*out+i/width]) * float64(in.v[r*width+i%width])
		}
		toW.v[i] = float32(sum)
	}
	for j := range shift.v {
		sum := 0.0
		for i := range rows {
			sum += float64(up.v[i*out+j])
		}
		shift.v[j] = float32(sum)
	}
	return nil
}

// Concat joins xs along axis 1.
func (Engine) Concat(y engine.Tensor, xs ...engine.Tensor) error {
	c := call{op: "concat"}
	out := c.any("y", y)
	c.check(len(xs) > 0, "nothing to join")
	c.check(c.err != nil || len(out.shape) >= 2, "%v has no axis 1", out)
	total := 0
	for _, x := range xs {
		in := c.any("x", x)
		if c.err == nil {
			c.fitsChannels(in, out)
		}
		if c.err == nil {
			total += in.shape[1]
		}
	}
	c.check(c.err != nil || total == out.shape[1], "%v is given %d channels", out, total)
	if c.err != nil {
		return c.err
	}
	from := 0
	for _, x := range xs {
		in := c.any("x", x)
		copyChannels(in, out, from, func(part, whole *float32) { *whole = *part })
		from += in.shape[1]
	}
	return nil
}

// Slice copies channels [from, from+C) of y into x.
func (Engine) Slice(x, y engine.Tensor, from int) error {
	c := call{op: "slice"}
	part, whole := c.any("x", x), c.any("y", y)
	c.slices(part, whole, from)
	if c.err != nil {
		return c.err
	}
	copyChannels(part, whole, from, func(part, whole *float32) { *part = *whole })
	return nil
}

// SliceReLUGrad copies channels [from, from+C) of dy where y is above 0.
func (Engine) SliceReLUGrad(dx, dy, y engine.Tensor, from int) error {
	c := call{op: "slice of a relu gradient"}
	part, up, out := c.any("dx", dx), c.any("dy", dy), c.any("y", y)
	c.slices(part, up, from)
	c.same(up, out)
	if c.err != nil {
		return c.err
	}
	copyChannels(part, up, from, func(part, whole *float32) { *part = *whole })
	masked := array{shape: part.shape, v: make([]float32, len(part.v))}
	copyChannels(masked, out, from, func(part, whole *float32) { *part = *whole })
	for i, y := range masked.v {
		if !(y > 0) {
			part.v[i] = 0
		}
	}
	return nil
}

// slices demands that part is channels [from, from+C) of whole.
func (c *call) slices(part, whole array, from int) {
	c.check(c.err != nil || len(whole.shape) >= 2, "%v has no axis 1", whole)
	if c.err == nil {
		c.fitsChannels(part, whole)
	}
	c.check(c.err != nil || from >= 0 && from <= whole.shape[1]-part.shape[1], "%v from channel %d of %v", part, from, whole)
}

// ScaleRows sets row k of dst to s[k] times that of a.
func (Engine) ScaleRows(dst, a, s engine.Tensor) error {
	c := call{op: "scale rows"}
	out, in := c.any("dst", dst), c.any("a", a)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	factors := c.of("s", s, in.shape[0])
	for i, v := range in.v {
		if c.err == nil {
			out.v[i] = v * factors.v[i/(len(in.v)/len(factors.v))]
		}
	}
	return c.err
}

// RowDots sets d[k] to the dot product of rows k.
func (Engine) RowDots(d, a, b engine.Tensor) error {
	c := call{op: "row dots"}
	x, y := c.any("a", a), c.any("b", b)
	c.same(x, y)
	if c.err != nil {
		return c.err
	}
	out := c.of("d", d, x.shape[0])
	if c.err != nil {
		return c.err
	}
	length := len(x.v) / len(out.v)
	for k := range out.v {
		sum := 0.0
		for i := k * length; i < (k+1)*length; i++ {
			sum += float64(x.v[i]) * float64(y.v[i])
		}
		out.v[k] = float32(sum)
	}
	return nil
}

// fitsChannels checks that part is like whole in all but the channels.
func (c *call) fitsChannels(part, whole array) {
	fits := len(part.shape) == len(whole.shape) && part.shape[0] == whole.shape[0] && slices.Equal(part.shape[2:], whole.shape[2:])
	c.check(fits, "%v and %v differ in more than channels", part, whole)
}

// copyChannels pairs every element of part with its place in whole, where part
// begins at a channel.
func copyChannels(part, whole array, from int, pair func(part, whole *float32)) {
	cells := 1
	for _, d := range part.shape[2:] {
		cells *= d
	}
	for n := range part.shape[0] {
		for k := range part.shape[1] {
			for i := range cells {
				pair(&part.v[(n*part.shape[1]+k)*cells+i], &whole.v[(n*whole.shape[1]+from+k)*cells+i])
			}
		}
	}
}
