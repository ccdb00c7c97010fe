package main

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/internal/approx"
)

// pairs writes the kernels of pairwise distances.
func (w *writer) pairs() {
	const sums, grad = "s, a, b []float32, ldb int, limit, root float32", "da, db, a, b, coef []float32, limit, root float32"
	for _, c := range []struct {
		name string
		make curveMaker
	}{
		{"sigmoid", falling(1)}, {"softSign", softSign}, {"arcTan", arcTan}, {"tanH", falling(2)}, {"isru", isru}, {"identity", identity},
	} {
		for p := 1; p <= 2; p++ {
			w.kernel(fmt.Sprintf("%sSums%d", c.name, p), sums, "", func(k *kernel) { k.pairSums(p, c.make(k)) })
			w.kernel(fmt.Sprintf("%sGrad%d", c.name, p), grad, "", func(k *kernel) { k.pairGrad(p, c.make(k)) })
		}
	}
}

// curve emits R and R', up to the factors that cpu's curveArgs has for them, of t, which it
// may spoil.
type curve struct {
	// value is the product of two registers, the second negative if there is none;
	// negative says that it is minus the product.
	value func(t vec) (x, y vec, negative bool)
	// factor is R' for p = 1 and R R' for p = 2, of either sign.
	factor func(t vec, p int) vec
}

// curveMaker takes the registers that a curve needs throughout a kernel.
type curveMaker func(k *kernel) curve

const none vec = -1

// pairSums sums over coordinates, four vectors at a time.
func (k *kernel) pairSums(p int, r curve) {
	const unroll = 4
	sums, a, b, ldb := k.base("s"), k.base("a"), k.base("b"), k.stride("ldb")
	rows, h, limit := k.length("s"), k.length("a"), k.broadcast("limit")
	acc, row := k.vectors(unroll), k.label("row")
	pa, pb, n := k.reg(), k.reg(), k.reg()
	k.at(row)
	for _, v := range acc {
		k.clear(v)
	}
	k.move(a, pa)
	k.move(b, pb)
	k.move(h, n)
	// add sums what is between two vectors.
	add := func(u, v, acc vec) {
		k.scope(func() {
			k.op("fabd", u, u, v)
			k.op("fmin", u, u, limit)
			x, y, negative := r.value(u)
			switch {
			case p == 1 && y == none:
				k.op("fadd", acc, acc, x)
			case p == 1 && negative:
				k.op("fmls", acc, x, y)
			case p == 1:
				k.op("fmla", acc, x, y)
			default:
				if y != none {
					k.op("fmul", x, x, y)
				}
				k.op("fmla", acc, x, x)
			}
		})
	}
	pointers := []reg{pa, pb}
	k.loop(n, unroll*lanes, k.label("vectors"), pointers, func() {
		for i := range 2 {
			k.scope(func() {
				s := part{vectors: 2, at: 32 * i}
				u, v := k.read(pa, s), k.read(pb, s)
				add(u[0], v[0], acc[2*i])
				add(u[1], v[1], acc[2*i+1])
			})
		}
	})
	// Beside a single number both are 0, and R(0) is 0.
	k.eachVector(n, pointers, func(s part) { add(k.read(pa, s)[0], k.read(pb, s)[0], acc[0]) })
	k.op("fadd", acc[0], acc[0], acc[1])
	k.op("fadd", acc[2], acc[2], acc[3])
	k.op("fadd", acc[0], acc[0], acc[2])
	k.total(acc[0])
	k.store1(acc[0], sums, 0)
	k.addImm(4, sums)
	k.add(ldb, b, b)
	k.countDown(1, rows, row)
	k.ret()
}

// pairGrad meets one vector of a with those of many rows of b, four at a time.
func (k *kernel) pairGrad(p int, r curve) {
	const unroll = 4
	da, db, a, b, coef, n := k.base("da"), k.base("db"), k.base("a"), k.base("b"), k.base("coef"), k.length("coef")
	limit, sign, x, acc, zero := k.broadcast("limit"), k.spread(k.bits(1<<31)), k.vec(), k.vec(), k.zero()
	k.load(x, a, 0)
	k.load(acc, da, 0)
	meet := func(y, g vec, by lane) {
		k.scope(func() {
			d, t := y, k.vec()
			k.op("fsub", d, x, y)
			k.unary("fabs", t, d)
			k.op("fmin", t, t, limit)
			slope := r.factor(t, p)
			k.logic("bit", slope, d, sign)
			if p == 1 { // for p = 2 slope is R R', which is 0 there
				k.op("fcmeq", d, d, zero)
				k.logic("bic", slope, slope, d)
			}
			k.by("fmla", acc, slope, by)
			k.by("fmls", g, slope, by)
		})
	}
	step := func(rows int) {
		k.addImm(16*rows, b)
		k.addImm(16*rows, db)
		k.addImm(4*rows, coef)
	}
	four, rest, one, done := k.label("four"), k.label("rest"), k.label("one"), k.label("done")
	k.compare(n, unroll, "BLT", rest)
	k.at(four)
	k.scope(func() {
		by := k.vec()
		k.load(by, coef, 0)
		for i := range 2 {
			k.scope(func() {
				s := part{vectors: 2, at: 32 * i}
				y, g := k.read(b, s), k.read(db, s)
				for j := range y {
					meet(y[j], g[j], lane{by, 2*i + j})
				}
				k.write(g, db, s)
			})
		}
	})
	step(unroll)
	k.line("SUB $%d, %v, %v", unroll, n, n)
	k.compare(n, unroll, "BGE", four)
	k.at(rest)
	k.ifZero(n, done)
	k.at(one)
	k.scope(func() {
		by, y, g := k.vec(), k.vec(), k.vec()
		k.load1(by, coef, 0)
		k.load(y, b, 0)
		k.load(g, db, 0)
		meet(y, g, lane{by, 0})
		k.store(g, db, 0)
	})
	step(1)
	k.countDown(1, n, one)
	k.at(done)
	k.store(acc, da, 0)
	k.ret()
}

// identity is t, with a slope of 1.
func identity(k *kernel) curve {
	one := k.spread(k.constant(1))
	return curve{
		value: func(t vec) (x, y vec, negative bool) { return t, none, false },
		factor: func(t vec, p int) vec {
			if p == 1 {
				k.by("fmul", t, t, k.constant(0)) // NaN stays
				k.op("fadd", t, t, one)
			}
			return t
		},
	}
}

// falling is tanh(f t/2): with x = e^-ft - 1 it is -x/(2+x).
func falling(f int) curveMaker {
	return func(k *kernel) curve {
		e := k.exponents()
		// decay returns x and 1/(2+x), and, if asked, e^-ft.
		decay := func(t vec, exp bool) (less1, inverse, whole vec) {
			scale, q := k.exponent(e, t, f)
			less1 = k.vec()
			k.op("fsub", less1, scale, e.one)
			k.op("fmla", less1, scale, q)
			if exp {
				k.op("fmla", scale, scale, q)
			}
			k.op("fadd", q, e.one, e.one)
			k.op("fadd", q, q, less1)
			return less1, k.reciprocal(q), scale
		}
		return curve{
			value: func(t vec) (x, y vec, negative bool) {
				less1, w, _ := decay(t, false)
				return less1, w, true
			},
			factor: func(t vec, p int) vec {
				less1, w, whole := decay(t, true)
				k.op("fmul", whole, whole, w)
				k.op("fmul", whole, whole, w) // R'/2f = e/(1+e)^2
				if p == 2 {
					k.op("fmul", less1, less1, w)
					k.op("fmul", whole, whole, less1)
				}
				return whole
			},
		}
	}
}

// softSign is t/(1+t).
func softSign(k *kernel) curve {
	one := k.spread(k.constant(1))
	inverse := func(t vec) vec {
		den := k.vec()
		k.op("fadd", den, t, one)
		return k.reciprocal(den)
	}
	return curve{
		value: func(t vec) (x, y vec, negative bool) { return t, inverse(t), false },
		factor: func(t vec, p int) vec {
			w := inverse(t)
			if p == 2 {
				k.op("fmul", t, t, w)
				k.op("fmul", t, t, w)
				k.op("fmul", t, t, w)
				return t
			}
			k.op("fmul", w, w, w)
			return w
		},
	}
}

// arcTan is z P(z^2) with z = min(t, 1/t), from pi/2 down if t > 1.
func arcTan(k *kernel) curve {
	one, quarter := k.spread(k.constant(1)), k.spread(k.constant(math.Pi/2))
	tail := approx.ArcTan()
	value := func(t vec) vec {
		return k.keep(func() vec {
			z, den := k.vec(), k.vec()
			k.op("fmin", z, t, one)
			k.op("fmax", den, t, one)
			k.op("fmul", z, z, k.reciprocal(den))
			k.op("fmul", den, z, z)
			p := k.polynomial(den, tail[:])
			k.op("fmul", p, p, z)
			k.op("fsub", z, quarter, p)
			k.op("fcmgt", den, t, one)
			k.logic("bit", p, z, den)
			return p
		})
	}
	return curve{
		value: func(t vec) (x, y vec, negative bool) { return value(t), none, false },
		factor: func(t vec, p int) vec {
			den := k.vec()
			k.copy(den, one)
			k.op("fmla", den, t, t)
			w := k.reciprocal(den)
			if p == 2 {
				k.op("fmul", w, w, value(t))
			}
			return w
		},
	}
}

// isru is u/sqrt(1+u^2) with u = root t, which is root times the restriction.
func isru(k *kernel) curve {
	root, one := lane{k.scalar("root"), 0}, k.spread(k.constant(1))
	inverse := func(t vec) (u, w vec) {
		den := k.vec()
		k.by("fmul", t, t, root)
		k.copy(den, one)
		k.op("fmla", den, t, t)
		return t, k.reciprocalRoot(den)
	}
	return curve{
		value: func(t vec) (x, y vec, negative bool) {
			u, w := inverse(t)
			return u, w, false
		},
		factor: func(t vec, p int) vec {
			u, w := inverse(t)
			x := k.vec()
			k.op("fmul", x, w, w)
			k.op("fmul", x, x, w)
			if p == 2 {
				k.op("fmul", u, u, w)
				k.op("fmul", x, x, u)
			}
			return x
		},
	}
}
