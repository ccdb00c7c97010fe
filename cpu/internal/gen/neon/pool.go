package main

// pools writes the kernels of pooling.
func (w *writer) pools() {
	w.kernel("route", "dx, left, x, y []float32", "", (*kernel).route)
	w.kernel("split", "even, odd, x []float32", "", (*kernel).split)
	w.kernel("merge", "x, even, odd []float32", "", (*kernel).merge)
}

// route gives what is left of the gradient of each window to one of its cells if that is
// the maximum.
func (k *kernel) route() {
	dx, left, x, y, n := k.base("dx"), k.base("left"), k.base("x"), k.base("y"), k.length("dx")
	k.each(n, []reg{dx, left, x, y}, func(s part) {
		most, cell, rest, sum, given := k.read(y, s), k.read(x, s), k.read(left, s), k.read(dx, s), k.vec()
		for i := range sum {
			k.op("fcmge", cell[i], cell[i], most[i])
			k.logic("and", given, rest[i], cell[i])
			k.logic("bic", rest[i], rest[i], cell[i])
			k.op("fadd", sum[i], sum[i], given)
		}
		k.write(sum, dx, s)
		k.write(rest, left, s)
	})
	k.ret()
}

// split takes the numbers at even and odd places apart.
func (k *kernel) split() {
	even, odd, x, n := k.base("even"), k.base("odd"), k.base("x"), k.length("x")
	v, apart := k.vectors(2), k.vectors(2)
	k.alternate(n, x, even, odd, func() {
		k.loadAll(v, x, 0)
		k.op("uzp1", apart[0], v[0], v[1])
		k.op("uzp2", apart[1], v[0], v[1])
		k.store(apart[0], even, 0)
		k.store(apart[1], odd, 0)
	}, func(half reg) {
		k.load1(v[0], x, 0)
		k.store1(v[0], half, 0)
	})
}

// merge is the inverse of split.
func (k *kernel) merge() {
	even, odd, x, n := k.base("even"), k.base("odd"), k.base("x"), k.length("x")
	v, apart := k.vectors(2), k.vectors(2)
	k.alternate(n, x, even, odd, func() {
		k.load(apart[0], even, 0)
		k.load(apart[1], odd, 0)
		k.op("zip1", v[0], apart[0], apart[1])
		k.op("zip2", v[1], apart[0], apart[1])
		k.storeAll(v, x, 0)
	}, func(half reg) {
		k.load1(v[0], half, 0)
		k.store1(v[0], x, 0)
	})
}

// alternate calls whole for two vectors of n numbers of x and one of each half, then single
// for one number of x and one of a half, by turns.
func (k *kernel) alternate(n, x, even, odd reg, whole func(), single func(half reg)) {
	loop, rest, one, done := k.label("loop"), k.label("rest"), k.label("one"), k.label("done")
	k.compare(n, 2*lanes, "BLT", rest)
	k.at(loop)
	whole()
	k.addImm(32, x)
	k.addImm(16, even)
	k.addImm(16, odd)
	k.line("SUB $%d, %v, %v", 2*lanes, n, n)
	k.compare(n, 2*lanes, "BGE", loop)
	k.at(rest)
	k.ifZero(n, done)
	k.at(one)
	for _, half := range []reg{even, odd} {
		single(half)
		k.addImm(4, x)
		k.addImm(4, half)
		k.line("SUBS $1, %v, %v", n, n)
		if half == even {
			k.jump("BEQ", done)
		} else {
			k.jump("BNE", one)
		}
	}
	k.at(done)
	k.ret()
}
