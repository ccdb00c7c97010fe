package main

import "math"

// vectors writes the element-wise kernels.
func (w *writer) vectors() {
	both := func(op string) func(k *kernel) func(x []vec) vec {
		return func(k *kernel) func(x []vec) vec {
			return func(x []vec) vec {
				for _, v := range x[1:] {
					k.op(op, x[0], x[0], v)
				}
				return x[0]
			}
		}
	}
	w.elementwise("add", "dst, a, b []float32", both("fadd"), "dst", "a", "b")
	w.elementwise("add3", "dst, a, b, c []float32", both("fadd"), "dst", "a", "b", "c")
	w.elementwise("multiply", "dst, a, b []float32", both("fmul"), "dst", "a", "b")
	w.elementwise("maximum", "dst, a, b []float32", both("fmax"), "dst", "a", "b")
	w.elementwise("maximum3", "dst, a, b, c []float32", both("fmax"), "dst", "a", "b", "c")
	w.elementwise("scale", "dst, a []float32, s float32", func(k *kernel) func(x []vec) vec {
		by := lane{k.scalar("s"), 0}
		return func(x []vec) vec {
			k.by("fmul", x[0], x[0], by)
			return x[0]
		}
	}, "dst", "a")
	w.elementwise("relu", "y, x []float32", func(k *kernel) func(x []vec) vec {
		zero := k.zero()
		return func(x []vec) vec {
			k.op("fmax", x[0], x[0], zero)
			return x[0]
		}
	}, "y", "x")
	w.elementwise("reluGrad", "dx, dy, y []float32", func(k *kernel) func(x []vec) vec {
		zero := k.zero()
		return func(x []vec) vec {
			k.op("fcmgt", x[1], x[1], zero)
			k.logic("and", x[0], x[0], x[1])
			return x[0]
		}
	}, "dx", "dy", "y")
	w.elementwise("boundGrad", "dx, dy, y []float32, ceiling float32", func(k *kernel) func(x []vec) vec {
		zero, ceiling := k.zero(), k.broadcast("ceiling")
		return func(x []vec) vec {
			below := k.vec()
			k.op("fcmgt", below, ceiling, x[1])
			k.op("fcmgt", x[1], x[1], zero)
			k.logic("and", x[0], x[0], x[1])
			k.logic("and", x[0], x[0], below)
			return x[0]
		}
	}, "dx", "dy", "y")
	w.elementwise("normGrad", "dx, dy, x []float32, a, b, center, c float32", func(k *kernel) func(x []vec) vec {
		a, b, center, c := lane{k.scalar("a"), 0}, lane{k.scalar("b"), 0}, k.broadcast("center"), k.broadcast("c")
		return func(x []vec) vec {
			y := k.vec()
			k.copy(y, c)
			k.by("fmla", y, x[0], a)
			k.op("fsub", x[1], x[1], center)
			k.by("fmla", y, x[1], b)
			return y
		}
	}, "dx", "dy", "x")
	w.kernel("affine", "y, x, residual []float32, center, scale, shift, ceiling float32", "", (*kernel).affine)
	w.kernel("finite", "x []float32", "ok bool", (*kernel).finite)
}

func (k *kernel) affine() {
	y, x, residual, n := k.base("y"), k.base("x"), k.base("residual"), k.length("y")
	center, scale, shift := k.broadcast("center"), lane{k.scalar("scale"), 0}, k.broadcast("shift")
	low, high := k.rectifier()
	value := func(p, more []vec) []vec {
		out := k.vectors(len(p))
		for i, v := range p {
			k.op("fsub", v, v, center)
			k.copy(out[i], shift)
			k.by("fmla", out[i], v, scale)
			if more != nil {
				k.op("fadd", out[i], out[i], more[i])
			}
			k.op("fmax", out[i], out[i], low)
			k.op("fmin", out[i], out[i], high)
		}
		return out
	}
	plain := k.label("plain")
	k.ifZero(residual, plain)
	k.each(n, []reg{y, x, residual}, func(s part) { k.write(value(k.read(x, s), k.read(residual, s)), y, s) })
	k.ret()
	k.at(plain)
	k.each(n, []reg{y, x}, func(s part) { k.write(value(k.read(x, s), nil), y, s) })
	k.ret()
}

// rectifier returns the bounds that the parameter ceiling asks for: without one, where it
// is 0, they are infinite.
func (k *kernel) rectifier() (low, high vec) {
	low, high = k.spread(k.constant(math.Inf(-1))), k.spread(k.constant(math.Inf(1)))
	k.scope(func() {
		asked, linear := k.loaded("MOVWU", k.param("ceiling", "", 0)), k.label("linear")
		k.ifZero(asked, linear)
		k.clear(low)
		k.dup(high, lane{k.scalar("ceiling"), 0})
		k.at(linear)
	})
	return low, high
}

// finite looks for an exponent of all ones: as integers such numbers are the largest.
func (k *kernel) finite() {
	x, n, most := k.base("x"), k.length("x"), [2]vec{k.zero(), k.zero()}
	k.each(n, []reg{x}, func(s part) {
		for i, v := range k.read(x, s) {
			k.unary("fabs", v, v)
			k.op("umax", most[i], most[i], v)
		}
	})
	k.op("umax", most[0], most[0], most[1])
	k.largestBits(most[0], most[0])
	bits, infinite := k.reg(), k.reg()
	k.toReg(bits, lane{most[0], 0})
	k.line("MOVD $%#x, %v", math.Float32bits(float32(math.Inf(1))), infinite)
	k.line("CMPW %v, %v", infinite, bits)
	k.line("CSET LO, %v", bits)
	k.resultInteger("ok", bits)
	k.ret()
}
