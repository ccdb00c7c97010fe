package main

// classes writes the kernels of losses over class rows.
func (w *writer) classes() {
	w.elementwise("quadratic", "y, x []float32, a, b, c float32", func(k *kernel) func(x []vec) vec {
		q := k.quadratic()
		return func(x []vec) vec { return q.at(x[0]) }
	}, "y", "x")
	w.elementwise("columnGrad", "dx, x, most, share []float32, a, b, c float32", func(k *kernel) func(x []vec) vec {
		q, e, double := k.quadratic(), k.exponents(), k.vec()
		k.op("fadd", double, q.c.vec, q.c.vec)
		return func(x []vec) vec {
			t := q.at(x[0])
			k.op("fsub", t, x[1], t)
			y := k.fall(e, t)
			k.op("fmul", y, y, x[2])
			k.copy(t, q.b)
			k.by("fmla", t, x[0], lane{double, 0})
			k.op("fmul", y, y, t)
			return y
		}
	}, "dx", "x", "most", "share")
	w.kernel("columnExp", "sums, x, most []float32", "", (*kernel).columnExp)
}

// quadratic is a + b x + c x^2.
type quadratic struct {
	k    *kernel
	a, b vec
	c    lane
}

func (k *kernel) quadratic() quadratic {
	return quadratic{k, k.broadcast("a"), k.broadcast("b"), lane{k.scalar("c"), 0}}
}

func (q quadratic) at(x vec) vec {
	y, z := q.k.vec(), q.k.vec()
	q.k.copy(y, q.b)
	q.k.by("fmla", y, x, q.c)
	q.k.copy(z, q.a)
	q.k.op("fmla", z, y, x)
	return z
}

func (k *kernel) columnExp() {
	sums, x, most, n, e := k.base("sums"), k.base("x"), k.base("most"), k.length("sums"), k.exponents()
	k.each(n, []reg{sums, x, most}, func(s part) {
		t, from, out := k.read(most, s), k.read(x, s), k.read(sums, s)
		for i := range t {
			k.scope(func() {
				k.op("fsub", t[i], t[i], from[i])
				k.op("fadd", out[i], out[i], k.fall(e, t[i]))
			})
		}
		k.write(out, sums, s)
	})
	k.ret()
}
