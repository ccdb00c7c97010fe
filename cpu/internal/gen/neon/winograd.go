package main

import "math"

// winograd writes the transforms of F(4x4, 3x3); see cpu/winograd.go.
func (w *writer) winograd() {
	const from = "dst []float32, stride, dstNext int, src []float32, pitch, srcNext, count int, tmp []float32"
	const to = "dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp"
	w.kernel("tilesIn", from, "", func(k *kernel) { k.fromMap(6, k.tileIn) })
	w.kernel("filtersIn", from, "", func(k *kernel) { k.fromMap(3, k.filterIn) })
	w.kernel("gradientsIn", from, "", func(k *kernel) { k.fromMap(4, k.gradientIn) })
	w.kernel("filtersOut", to+" []float32", "", func(k *kernel) { k.toMap(3, k.filterOut, nil) })
	w.kernel("tilesOut", to+", ends []float32", "", (*kernel).tilesOut)
}

// transform is one dimension of a transform, which may spoil x.
type transform func(x []vec) []vec

// multiples are 0 to 6 strides; the first is no register.
type multiples [7]reg

func (k *kernel) multiples(name string) (m multiples) {
	m[1] = k.stride(name)
	for i := 2; i < len(m); i++ {
		m[i] = k.reg()
		k.add(m[1], m[i-1], m[i])
	}
	return m
}

// fromMap transforms squares of a map, rows pitch apart: first along each row, then along
// each column, of which the results are 6 vectors stride apart.
func (k *kernel) fromMap(size int, f transform) {
	dst, src, tmp, m, pitch := k.base("dst"), k.base("src"), k.base("tmp"), k.multiples("stride"), k.stride("pitch")
	dstNext, srcNext, count, at, loop := k.stride("dstNext"), k.stride("srcNext"), k.integer("count"), k.reg(), k.label("loop")
	k.at(loop)
	k.move(src, at)
	for y := range size {
		k.scope(func() {
			x := k.vectors(size)
			k.loadAll(x, at, 0)
			if y < size-1 {
				k.add(pitch, at, at)
			}
			for i, v := range f(x) {
				k.store(v, tmp, 16*(i*size+y))
			}
		})
	}
	k.move(dst, at)
	for i := range 6 {
		k.scope(func() {
			x := k.vectors(size)
			k.loadAll(x, tmp, 16*i*size)
			for j, v := range f(x) {
				if j == 0 {
					k.store(v, at, 0)
				} else {
					k.storeTo(v, at, m[j])
				}
			}
			if i < 5 {
				k.add(m[6], at, at)
			}
		})
	}
	k.add(srcNext, src, src)
	k.add(dstNext, dst, dst)
	k.countDown(1, count, loop)
	k.ret()
}

// toMap is the way back, from 36 vectors to a square of a map. end, if there is one,
// changes the results.
func (k *kernel) toMap(size int, f transform, end func(v vec)) {
	dst, src, tmp, m, pitch := k.base("dst"), k.base("src"), k.base("tmp"), k.multiples("stride"), k.stride("pitch")
	dstNext, srcNext, count, at, loop := k.stride("dstNext"), k.stride("srcNext"), k.integer("count"), k.reg(), k.label("loop")
	k.at(loop)
	k.move(src, at)
	for i := range 6 {
		k.scope(func() {
			x := k.vectors(6)
			k.load(x[0], at, 0)
			for j := 1; j < 6; j++ {
				k.loadFrom(x[j], at, m[j])
			}
			if i < 5 {
				k.add(m[6], at, at)
			}
			for y, v := range f(x) {
				k.store(v, tmp, 16*(y*6+i))
			}
		})
	}
	k.move(dst, at)
	for y := range size {
		k.scope(func() {
			x := k.vectors(6)
			k.loadAll(x, tmp, 16*6*y)
			out := f(x)
			for _, v := range out {
				if end != nil {
					end(v)
				}
			}
			k.storeAll(out, at, 0)
			if y < size-1 {
				k.add(pitch, at, at)
			}
		})
	}
	k.add(srcNext, src, src)
	k.add(dstNext, dst, dst)
	k.countDown(1, count, loop)
	k.ret()
}

// tilesOut scales and shifts the results and limits them from below by the vectors at ends,
// unless that is nil.
func (k *kernel) tilesOut() {
	plain := k.label("plain")
	k.scope(func() {
		ends := k.base("ends")
		k.ifZero(ends, plain)
		by, plus, low := k.vec(), k.vec(), k.vec()
		k.loadAll([]vec{by, plus, low}, ends, 0)
		k.toMap(4, k.tileOut, func(v vec) {
			k.op("fmul", v, v, by)
			k.op("fadd", v, v, plus)
			k.op("fmax", v, v, low)
		})
	})
	k.at(plain)
	k.toMap(4, k.tileOut, nil)
}

// The points are 0, +-1/sqrt 2, +-sqrt 2 and infinity.
const (
	inner = math.Sqrt2 / 2
	outer = math.Sqrt2
)

// plus returns x + y, minus x - y, times f x, more x + f y and less x - f y.
func (k *kernel) plus(x, y vec) vec {
	v := k.vec()
	k.op("fadd", v, x, y)
	return v
}

func (k *kernel) minus(x, y vec) vec {
	v := k.vec()
	k.op("fsub", v, x, y)
	return v
}

func (k *kernel) times(f float64, x vec) vec {
	v := k.vec()
	k.by("fmul", v, x, k.constant(f))
	return v
}

func (k *kernel) more(x vec, f float64, y vec) vec {
	v := k.vec()
	k.copy(v, x)
	k.grow(v, f, y)
	return v
}

func (k *kernel) less(x vec, f float64, y vec) vec {
	v := k.vec()
	k.copy(v, x)
	k.shrink(v, f, y)
	return v
}

// grow adds f y to x, shrink takes it.
func (k *kernel) grow(x vec, f float64, y vec)   { k.by("fmla", x, y, k.constant(f)) }
func (k *kernel) shrink(x vec, f float64, y vec) { k.by("fmls", x, y, k.constant(f)) }

// both returns x + f y and x - f y, the second in x.
func (k *kernel) both(x vec, f float64, y vec) (more, less vec) {
	more = k.more(x, f, y)
	k.shrink(x, f, y)
	return more, x
}

// tileIn is B^T x.
func (k *kernel) tileIn(x []vec) []vec {
	u, v := k.less(x[4], 2, x[2]), k.less(x[3], 2, x[1])
	p, q := k.less(x[4], 0.5, x[2]), k.less(x[3], 0.5, x[1])
	k.op("fadd", x[0], x[0], x[4])
	k.shrink(x[0], 2.5, x[2])
	k.op("fadd", x[5], x[1], x[5])
	k.shrink(x[5], 2.5, x[3])
	a, b := k.both(u, inner, v)
	c, d := k.both(p, outer, q)
	return []vec{x[0], a, b, c, d, x[5]}
}

// tileOut is A^T x.
func (k *kernel) tileOut(x []vec) []vec {
	u, v, p, q := k.plus(x[1], x[2]), k.minus(x[1], x[2]), k.plus(x[3], x[4]), k.minus(x[3], x[4])
	k.op("fadd", x[0], x[0], u)
	k.op("fadd", x[0], x[0], p)
	a, b := k.times(inner, v), k.times(0.5, u)
	k.grow(a, outer, q)
	k.grow(b, 2, p)
	k.grow(x[5], inner/2, v)
	k.grow(x[5], 2*outer, q)
	return []vec{x[0], a, b, x[5]}
}

// filterIn is G x.
func (k *kernel) filterIn(x []vec) []vec {
	u, p := k.more(x[0], 0.5, x[2]), k.more(x[0], 2, x[2])
	a, b := k.both(u, inner, x[1])
	c, d := k.both(p, outer, x[1])
	for _, v := range []vec{a, b} {
		k.by("fmul", v, v, k.constant(-2./3))
	}
	for _, v := range []vec{c, d} {
		k.by("fmul", v, v, k.constant(1./6))
	}
	return []vec{x[0], a, b, c, d, x[2]}
}

// gradientIn is A x.
func (k *kernel) gradientIn(x []vec) []vec {
	u, v := k.more(x[0], 0.5, x[2]), k.more(x[1], 0.5, x[3])
	p, q := k.more(x[0], 2, x[2]), k.more(x[1], 2, x[3])
	a, b := k.both(u, inner, v)
	c, d := k.both(p, outer, q)
	return []vec{x[0], a, b, c, d, x[3]}
}

// filterOut is G^T x.
func (k *kernel) filterOut(x []vec) []vec {
	u, v, p, q := k.plus(x[1], x[2]), k.minus(x[1], x[2]), k.plus(x[3], x[4]), k.minus(x[3], x[4])
	k.shrink(x[0], 2./3, u)
	k.grow(x[0], 1./6, p)
	a := k.times(outer/6, q)
	k.shrink(a, inner*2/3, v)
	k.grow(x[5], 1./3, k.minus(p, u))
	return []vec{x[0], a, x[5]}
}
