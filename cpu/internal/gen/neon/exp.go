package main

import "github.com/vernier-ml/vernier/internal/approx"

// exponents are the registers that exponentials need throughout a kernel.
type exponents struct{ magic, one, far vec }

// exponents takes them. Adding magic, 1.5 2^23, rounds to an integer, which then lies in
// the low bits.
func (k *kernel) exponents() exponents {
	return exponents{k.spread(k.constant(1.5 * (1 << 23))), k.spread(k.constant(1)), k.spread(k.constant(approx.FarExp))}
}

// exponent splits e^-ft = s + s q into s = 2^n and q = e^r - 1, with n <= 0.
func (k *kernel) exponent(e exponents, t vec, f int) (scale, q vec) {
	tail := approx.ExpTail()
	n := k.vec()
	scale, q = k.vec(), k.vec()
	k.copy(scale, e.magic)
	k.by("fmls", scale, t, k.constant(float64(f)*approx.Log2E))
	k.op("fsub", n, scale, e.magic)
	k.shiftLeft(scale, scale, 23)
	k.op("add", scale, scale, e.one)
	if f == 1 {
		k.unary("fneg", q, t)
	} else {
		k.by("fmul", q, t, k.constant(float64(-f)))
	}
	k.by("fmls", q, n, k.constant(approx.Ln2)) // r
	p := k.polynomial(q, tail[:])
	k.op("fmul", n, q, q)
	k.op("fmla", q, n, p)
	return scale, q
}

// polynomial returns the sum of c[i] x^i.
func (k *kernel) polynomial(x vec, c []float32) vec {
	n := len(c) - 1
	p := k.spread(k.constant(float64(c[n-1])))
	k.by("fmla", p, x, k.constant(float64(c[n])))
	next := k.vec()
	for i := n - 2; i >= 0; i-- {
		k.dup(next, k.constant(float64(c[i])))
		k.op("fmla", next, p, x)
		p, next = next, p
	}
	return p
}

// fall returns e^-t for t >= 0, 0 beyond approx.FarExp. NaN stays NaN.
func (k *kernel) fall(e exponents, t vec) vec {
	return k.keep(func() vec {
		scale, q := k.exponent(e, t, 1)
		k.op("fmla", scale, scale, q)
		k.op("fcmgt", q, t, e.far)
		k.logic("bic", scale, scale, q)
		return scale
	})
}

// exp adds up in float64.
func (k *kernel) exp() {
	y, x, n := k.base("y"), k.base("x"), k.length("y")
	scale, most, e, acc := lane{k.scalar("scale"), 0}, k.broadcast("most"), k.exponents(), k.totals()
	k.each(n, []reg{y, x}, func(s part) {
		out := k.read(x, s)
		for i, t := range out {
			k.op("fsub", t, most, t)
			k.by("fmul", t, t, scale)
			out[i] = k.fall(e, t)
		}
		k.write(out, y, s)
		for i, v := range out {
			k.addUp(acc, i, v, s)
		}
	})
	k.result("total", k.totalOf(acc))
	k.ret()
}

// reciprocal returns 1/x for x of moderate size: two steps of Newton's method double the
// 8 bits of an estimate twice.
func (k *kernel) reciprocal(x vec) vec {
	y, step := k.vec(), k.vec()
	k.unary("frecpe", y, x)
	for range 2 {
		k.op("frecps", step, x, y)
		k.op("fmul", y, y, step)
	}
	return y
}

// reciprocalRoot returns 1/sqrt(x) for x of moderate size.
func (k *kernel) reciprocalRoot(x vec) vec {
	y, step := k.vec(), k.vec()
	k.unary("frsqrte", y, x)
	for range 2 {
		k.op("fmul", step, y, y)
		k.op("frsqrts", step, x, step)
		k.op("fmul", y, y, step)
	}
	return y
}
