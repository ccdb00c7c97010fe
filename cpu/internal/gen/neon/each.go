package main

// part is what a loop over slices handles at a time: a pair of vectors, one vector, or a
// single number, in the first lane, beside which others are 0.
type part struct {
	vectors int
	single  bool
	at      int // bytes from where the pointers are
}

// read loads a part.
func (k *kernel) read(p reg, s part) []vec {
	v := k.vectors(s.vectors)
	if s.single {
		k.load1(v[0], p, s.at)
	} else {
		k.loadAll(v, p, s.at)
	}
	return v
}

func (k *kernel) write(v []vec, p reg, s part) {
	if s.single {
		k.store1(v[0], p, s.at)
	} else {
		k.storeAll(v, p, s.at)
	}
}

// each is a loop over n numbers: four vectors at a time, as two pairs, then one, then a
// single number. It moves the pointers on.
func (k *kernel) each(n reg, pointers []reg, body func(s part)) {
	rest := k.label("vectors")
	k.loop(n, 4*lanes, rest, pointers, func() {
		for i := range 2 {
			k.scope(func() { body(part{vectors: 2, at: 32 * i}) })
		}
	})
	k.eachVector(n, pointers, body)
}

// eachVector is each without pairs.
func (k *kernel) eachVector(n reg, pointers []reg, body func(s part)) {
	k.loop(n, lanes, k.label("singles"), pointers, func() { body(part{vectors: 1}) })
	single, done := k.label("single"), k.label("done")
	k.ifZero(n, done)
	k.at(single)
	k.scope(func() { body(part{vectors: 1, single: true}) })
	for _, p := range pointers {
		k.addImm(4, p)
	}
	k.countDown(1, n, single)
	k.at(done)
}

// loop runs body for step numbers at a time, and goes to rest with fewer than step left.
func (k *kernel) loop(n reg, step int, rest string, pointers []reg, body func()) {
	loop := k.label("loop")
	k.compare(n, step, "BLT", rest)
	k.at(loop)
	k.scope(body)
	for _, p := range pointers {
		k.addImm(4*step, p)
	}
	k.line("SUB $%d, %v, %v", step, n, n)
	k.compare(n, step, "BGE", loop)
	k.at(rest)
}

// elementwise writes a kernel over equally long slices, the first of which is the
// destination. setup comes before the loop; what it returns makes a vector of the result
// of vectors of the others, whose registers it may spoil.
func (w *writer) elementwise(name, params string, setup func(k *kernel) func(x []vec) vec, slices ...string) {
	w.kernel(name, params, "", func(k *kernel) {
		var p []reg
		for _, s := range slices {
			p = append(p, k.base(s))
		}
		n, result := k.length(slices[0]), setup(k)
		k.each(n, p, func(s part) {
			var from [][]vec
			for _, p := range p[1:] {
				from = append(from, k.read(p, s))
			}
			y := make([]vec, s.vectors)
			for i := range y {
				x := make([]vec, len(from))
				for j := range x {
					x[j] = from[j][i]
				}
				y[i] = k.keep(func() vec { return result(x) })
			}
			k.write(y, p[0], s)
		})
		k.ret()
	})
}

// keep gives the registers back that body takes, but that of its result.
func (k *kernel) keep(body func() vec) (v vec) {
	k.scope(func() { v = body() })
	k.vecs[v] = true
	return v
}
