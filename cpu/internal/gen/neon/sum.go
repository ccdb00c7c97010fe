package main

// totals are sums in float64, of both halves of two vectors.
type totals [2][2]vec

func (k *kernel) totals() (acc totals) {
	for i := range acc {
		acc[i] = [2]vec{k.zero(), k.zero()}
	}
	return acc
}

// halves returns how many halves of its vectors a part fills.
func (s part) halves() int {
	if s.single {
		return 1
	}
	return 2
}

// addUp adds vector i of a part.
func (k *kernel) addUp(acc totals, i int, v vec, s part) {
	k.scope(func() {
		wide := k.vec()
		if s.single {
			k.first(wide, lane{v, 0})
			v = wide
		}
		for h := range s.halves() {
			k.widen(wide, v, h)
			k.op64("fadd", acc[i][h], acc[i][h], wide)
		}
	})
}

// totalOf returns the sum of all.
func (k *kernel) totalOf(acc totals) vec {
	for i := range acc {
		k.op64("fadd", acc[i][0], acc[i][0], acc[i][1])
	}
	v := acc[0][0]
	k.op64("fadd", v, v, acc[1][0])
	k.total64(v)
	return v
}

// centers is a float32 as float64 in both lanes, and in the first alone for single numbers.
type centers struct{ both, first vec }

func (k *kernel) centers(name string) centers {
	c := centers{k.broadcast(name), k.vec()}
	k.widen(c.both, c.both, 0)
	k.first64(c.first, c.both)
	return c
}

func (c centers) of(s part) vec {
	if s.single {
		return c.first
	}
	return c.both
}

// reductions writes the sums of normalization, in float64.
func (w *writer) reductions() {
	w.kernel("sum", "x []float32", "total float64", func(k *kernel) {
		x, n, acc := k.base("x"), k.length("x"), k.totals()
		k.each(n, []reg{x}, func(s part) {
			for i, v := range k.read(x, s) {
				k.addUp(acc, i, v, s)
			}
		})
		k.result("total", k.totalOf(acc))
		k.ret()
	})
	w.kernel("spread", "x []float32, center float32", "total float64", func(k *kernel) {
		x, n, center, acc := k.base("x"), k.length("x"), k.centers("center"), k.totals()
		k.each(n, []reg{x}, func(s part) {
			wide := k.vec()
			for i, v := range k.read(x, s) {
				for h := range s.halves() {
					k.widen(wide, v, h)
					k.op64("fsub", wide, wide, center.of(s))
					k.op64("fmla", acc[i][h], wide, wide)
				}
			}
		})
		k.result("total", k.totalOf(acc))
		k.ret()
	})
	w.kernel("project", "y, x []float32, center float32", "total float64", func(k *kernel) {
		y, x, n, center, acc := k.base("y"), k.base("x"), k.length("y"), k.centers("center"), k.totals()
		k.each(n, []reg{y, x}, func(s part) {
			g, u, wide := k.read(y, s), k.read(x, s), k.vectors(2)
			for i, v := range u {
				for h := range s.halves() {
					k.widen(wide[0], g[i], h)
					k.widen(wide[1], v, h)
					k.op64("fsub", wide[1], wide[1], center.of(s))
					k.op64("fmla", acc[i][h], wide[0], wide[1])
				}
			}
		})
		k.result("total", k.totalOf(acc))
		k.ret()
	})
}
