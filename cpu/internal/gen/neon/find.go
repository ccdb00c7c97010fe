package main

// finding writes the kernels that look numbers up in a row of keys.
func (w *writer) finding() {
	w.kernel("countBelow", "x []float32, limit float32", "n int", (*kernel).countBelow)
	w.kernel("between", "dst []int32, x []float32, low, high float32", "n int", (*kernel).between)
}

// countBelow takes lanes of all ones, which are -1, from its counts.
func (k *kernel) countBelow() {
	x, n, limit, count := k.base("x"), k.length("x"), k.broadcast("limit"), [2]vec{k.zero(), k.zero()}
	k.each(n, []reg{x}, func(s part) {
		for i, v := range k.read(x, s) {
			k.op("fcmgt", v, limit, v)
			if s.single {
				k.first(v, lane{v, 0})
			}
			k.op("sub", count[i], count[i], v)
		}
	})
	k.op("add", count[0], count[0], count[1])
	k.totalBits(count[0], count[0])
	total := k.reg()
	k.toReg(total, lane{count[0], 0})
	k.resultInteger("n", total)
	k.ret()
}

// between stores indices one by one: few are found as a rule.
func (k *kernel) between() {
	dst, x, n := k.base("dst"), k.base("x"), k.length("x")
	low, high, upper, any := k.broadcast("low"), k.broadcast("high"), k.vec(), k.vec()
	at, found, bits := k.reg(), k.reg(), k.reg()
	k.line("MOVD $0, %v", at)
	k.line("MOVD $0, %v", found)
	k.eachVector(n, []reg{x}, func(s part) {
		v, none, count := k.read(x, s)[0], k.label("none"), lanes
		if s.single {
			count = 1
		}
		k.op("fcmge", upper, high, v)
		k.op("fcmge", v, v, low)
		k.logic("and", v, v, upper)
		if !s.single {
			k.largestBits(any, v)
			k.toReg(bits, lane{any, 0})
			k.ifZero(bits, none)
		}
		for i := range count {
			skip := k.label("skip")
			k.toReg(bits, lane{v, i})
			k.ifZero(bits, skip)
			i32 := k.reg()
			k.line("ADD $%d, %v, %v", i, at, i32)
			k.line("MOVW %v, (%v)", i32, dst)
			k.addImm(4, dst)
			k.addImm(1, found)
			k.at(skip)
		}
		k.at(none)
		k.addImm(count, at)
	})
	k.resultInteger("n", found)
	k.ret()
}
