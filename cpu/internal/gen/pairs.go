package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/vernier-ml/vernier/internal/approx"
)

// pairs writes the kernels of pairwise distances.
func (s *isa) pairs() {
	for _, c := range []struct {
		name string
		make curveMaker
	}{
		{"sigmoid", s.falling(1)},
		{"softSign", s.softSign},
		{"arcTan", s.arcTan},
		{"tanH", s.falling(2)},
		{"isru", s.isru},
		{"identity", s.identity},
	} {
		for p := 1; p <= 2; p++ {
			s.pairSums(fmt.Sprintf("%sSums%d", c.name, p), p, c.make)
			s.pairGrad(fmt.Sprintf("%sGrad%d", c.name, p), p, c.make)
		}
	}
}

// curve emits R and R', up to the factors that cpu's curveArgs has for
// them. start comes before the loops, grid being nil unless the instruction set
// has one.
type curve struct {
	// value is the product of two registers, the second nil if it is 1; negative
	// says that it is minus the product.
	value func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool)
	// factor is R' for p = 1 and R R' for p = 2, of either sign.
	factor func(t reg.VecVirtual, p int) reg.VecVirtual
}

// curveMaker emits what a curve's kernel does before its loops, for the sums or
// the gradient to the power p.
type curveMaker func(grad bool, p int) curve

// distance returns |a - b|, clamped; NaN stays.
func (s *isa) distance(d, limit reg.VecVirtual) reg.VecVirtual {
	t := s.vec()
	VANDPS(s.bits(0x7fffffff), d, t)
	VMINPS(t, limit, t) // the second source, t, if it is NaN
	return t
}

// pairSums sums over coordinates, four vectors at a time.
func (s *isa) pairSums(name string, p int, make curveMaker) {
	const unroll = 4
	s.text(name, "s, a, b []float32, ldb int, limit, root float32"+s.gridParam())
	sums, a, b, ldb := base("s"), base("a"), base("b"), stride("ldb")
	rows, h := length("s"), length("a")
	limit := s.broadcast("limit")
	r := make(false, p)
	rest := GP64()
	MOVQ(h, rest)
	ANDQ(imm(s.lanes-1), rest)
	tail := s.firsts(rest, 1)[0]
	Label("row")
	var acc [unroll]reg.VecVirtual
	for i := range acc {
		acc[i] = s.zero()
	}
	pa, pb, n := GP64(), GP64(), GP64()
	MOVQ(a, pa)
	MOVQ(b, pb)
	MOVQ(h, n)
	add := func(d, acc reg.VecVirtual) {
		x, y, negative := r.value(s.distance(d, limit))
		switch {
		case p == 1 && y == nil:
			VADDPS(x, acc, acc)
		case p == 1 && negative:
			VFNMADD231PS(x, y, acc)
		case p == 1:
			VFMADD231PS(x, y, acc)
		default:
			if y != nil {
				VMULPS(y, x, x)
			}
			VFMADD231PS(x, x, acc)
		}
	}
	Label("four")
	CMPQ(n, imm(unroll*s.lanes))
	JLT(LabelRef("one"))
	for i := range acc {
		d := s.vec()
		VMOVUPS(Mem{Base: pa, Disp: i * s.bytes()}, d)
		VSUBPS(Mem{Base: pb, Disp: i * s.bytes()}, d, d)
		add(d, acc[i])
	}
	ADDQ(imm(unroll*s.bytes()), pa)
	ADDQ(imm(unroll*s.bytes()), pb)
	SUBQ(imm(unroll*s.lanes), n)
	JMP(LabelRef("four"))
	Label("one")
	CMPQ(n, imm(s.lanes))
	JLT(LabelRef("rest"))
	d := s.vec()
	VMOVUPS(Mem{Base: pa}, d)
	VSUBPS(Mem{Base: pb}, d, d)
	add(d, acc[0])
	ADDQ(imm(s.bytes()), pa)
	ADDQ(imm(s.bytes()), pb)
	SUBQ(imm(s.lanes), n)
	JMP(LabelRef("one"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("total"))
	// Lanes beyond the end are 0 in both, and R(0) is 0.
	x, y := s.vec(), s.vec()
	s.load(Mem{Base: pa}, tail, x)
	s.load(Mem{Base: pb}, tail, y)
	VSUBPS(y, x, x)
	add(x, acc[1])
	Label("total")
	VADDPS(acc[1], acc[0], acc[0])
	VADDPS(acc[3], acc[2], acc[2])
	VADDPS(acc[2], acc[0], acc[0])
	VMOVSS(s.total32(acc[0]), Mem{Base: sums})
	ADDQ(Imm(4), sums)
	ADDQ(ldb, b)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

// pairGrad meets one vector of a with those of many rows of b, four at a time.
func (s *isa) pairGrad(name string, p int, make curveMaker) {
	const unroll = 4
	s.text(name, "da, db, a, b, coef []float32, limit, root float32"+s.gridParam())
	da, db, a, b, coef, n := base("da"), base("db"), base("a"), base("b"), base("coef"), length("coef")
	limit := s.broadcast("limit")
	r := make(true, p)
	x, acc := s.vec(), s.vec()
	var zero reg.VecVirtual
	if p == 1 {
		zero = s.zero()
	}
	VMOVUPS(Mem{Base: a}, x)
	VMOVUPS(Mem{Base: da}, acc)
	meet := func(i int) {
		at := i * s.bytes()
		d, g := s.vec(), s.vec()
		VSUBPS(Mem{Base: b, Disp: at}, x, d)
		VMOVUPS(Mem{Base: db, Disp: at}, g)
		slope := s.withSign(r.factor(s.distance(d, limit), p), d)
		s.addPair(slope, d, zero, acc, g, Mem{Base: coef, Disp: 4 * i})
		VMOVUPS(g, Mem{Base: db, Disp: at})
	}
	step := func(rows int) {
		ADDQ(imm(rows*s.bytes()), b)
		ADDQ(imm(rows*s.bytes()), db)
		ADDQ(Imm(uint64(4*rows)), coef)
		SUBQ(Imm(uint64(rows)), n)
	}
	Label("four")
	CMPQ(n, Imm(unroll))
	JLT(LabelRef("rest"))
	for i := range unroll {
		meet(i)
	}
	step(unroll)
	JMP(LabelRef("four"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	meet(0)
	step(1)
	JMP(LabelRef("rest"))
	Label("done")
	VMOVUPS(acc, Mem{Base: da})
	finish()
}

// addPair adds slope times the number at coef to acc and takes it from g. Equal
// coordinates give nothing: for p = 2 because slope is R R' = 0, for p = 1, which
// has a zero to compare with, whatever the slope.
func (s *isa) addPair(slope, d, zero, acc, g reg.VecVirtual, coef Mem) {
	switch {
	case s.wide && zero != nil:
		k := K()
		VCMPPS(Imm(4), zero, d, k)
		VFMADD231PS_BCST(coef, slope, k, acc)
		VFNMADD231PS_BCST(coef, slope, k, g)
	case s.wide:
		VFMADD231PS_BCST(coef, slope, acc)
		VFNMADD231PS_BCST(coef, slope, g)
	default:
		c := YMM()
		VBROADCASTSS(coef, c)
		if zero != nil {
			VCMPPS(Imm(4), zero, d, d)
			VANDPS(d, c, c)
		}
		VFMADD231PS(c, slope, acc)
		VFNMADD231PS(c, slope, g)
	}
}

// withSign gives |x| the sign of d.
func (s *isa) withSign(x, d reg.VecVirtual) reg.VecVirtual {
	if s.wide {
		VPTERNLOGD(Imm(0xd8), s.bits(0x80000000), d, x) // the sign bit of d, else x
		return x
	}
	sign := s.vec()
	VANDPS(s.bits(0x80000000), d, sign)
	VANDPS(s.bits(0x7fffffff), x, x)
	VORPS(sign, x, x)
	return x
}

func (s *isa) identity(bool, int) curve {
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) { return t, nil, false },
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			if p == 2 {
				return t
			}
			one := s.set(s.constant(1))
			VFMADD231PS(s.constant(0), t, one) // 1, NaN if t is
			return one
		},
	}
}

// reciprocal returns 1/x for x of moderate size.
func (s *isa) reciprocal(x reg.VecVirtual) reg.VecVirtual {
	one := s.set(s.constant(1))
	if !s.wide {
		VDIVPS(x, one, one)
		return one
	}
	y := s.vec() // 14 bits; one step of Newton's method doubles them
	VRCP14PS(x, y)
	VFNMADD231PS(x, y, one)
	VFMADD213PS(y, y, one)
	return one
}

// reciprocalRoot returns 1/sqrt(x) for x of moderate size.
func (s *isa) reciprocalRoot(x reg.VecVirtual) reg.VecVirtual {
	one := s.set(s.constant(1))
	if !s.wide {
		VSQRTPS(x, x)
		VDIVPS(x, one, one)
		return one
	}
	y, z := s.vec(), s.vec()
	VRSQRT14PS(x, y)
	VMULPS(x, y, z)
	VFNMADD231PS(z, y, one)
	VMULPS(s.constant(0.5), y, z)
	VFMADD213PS(y, z, one)
	return one
}

// falling is tanh(f t/2).
func (s *isa) falling(f int) curveMaker {
	if !s.wide {
		return func(bool, int) curve { return s.exponential(f) }
	}
	return func(bool, int) curve {
		g := s.grid(approx.FallDegree, approx.FallBits+f-1)
		return curve{
			value:  func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) { return g.at(t), nil, false },
			factor: func(t reg.VecVirtual, p int) reg.VecVirtual { return g.at(t) },
		}
	}
}

// exponential is tanh(f t/2): with x = e^-ft - 1 it is -x/(2+x).
func (s *isa) exponential(f int) curve {
	// decay returns x and, if asked, e^-ft.
	decay := func(t reg.VecVirtual, exp bool) (less1, e reg.VecVirtual) {
		scale, q := s.exponent(t, f)
		if exp {
			e = s.vec()
			VMOVAPS(scale, e)
			VFMADD231PS(scale, q, e)
		}
		rest := s.vec()
		VSUBPS(s.constant(1), scale, rest)
		VFMADD213PS(rest, scale, q)
		return q, e
	}
	inverse := func(less1 reg.VecVirtual) reg.VecVirtual {
		den := s.vec()
		VADDPS(s.constant(2), less1, den)
		return s.reciprocal(den)
	}
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) {
			less1, _ := decay(t, false)
			return less1, inverse(less1), true
		},
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			less1, e := decay(t, true)
			w := inverse(less1)
			VMULPS(w, e, e)
			VMULPS(w, e, e) // R'/2f = e/(1+e)^2
			if p == 2 {
				VMULPS(w, less1, less1)
				VMULPS(less1, e, e)
			}
			return e
		},
	}
}

// softSign is t/(1+t).
func (s *isa) softSign(bool, int) curve {
	inverse := func(t reg.VecVirtual) reg.VecVirtual {
		den := s.vec()
		VADDPS(s.constant(1), t, den)
		return s.reciprocal(den)
	}
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) { return t, inverse(t), false },
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			w := inverse(t)
			if p == 2 {
				VMULPS(w, t, t)
				VMULPS(w, t, t)
			} else {
				VMOVAPS(w, t)
			}
			VMULPS(w, t, t)
			return t
		},
	}
}

// arcTanByPolynomial is z P(z^2) with z = min(t, 1/t), from pi/2 down if t > 1.
func (s *isa) arcTanByPolynomial() curve {
	tail := approx.ArcTan()
	value := func(t reg.VecVirtual) reg.VecVirtual {
		one := s.set(s.constant(1))
		num, den, z, u := s.vec(), s.vec(), s.vec(), s.vec()
		VMINPS(t, one, num)
		VMAXPS(t, one, den)
		VMULPS(s.reciprocal(den), num, z)
		VMULPS(z, z, u)
		p := s.set(s.constant(float64(tail[7])))
		for i := 6; i >= 0; i-- {
			VFMADD213PS(s.constant(float64(tail[i])), u, p)
		}
		VMULPS(z, p, p)
		far := s.vec()
		VMOVUPS(s.constant(math.Pi/2), far)
		VSUBPS(p, far, far)
		k := YMM()
		VCMPPS(Imm(0x1e), one, t, k)
		VBLENDVPS(k, far, p, p)
		return p
	}
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) { return value(t), nil, false },
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			w := s.arcTanSlope(t)
			if p == 2 {
				VMULPS(value(t), w, w)
			}
			return w
		},
	}
}

// arcTanSlope is 1/(1+t^2).
func (s *isa) arcTanSlope(t reg.VecVirtual) reg.VecVirtual {
	den := s.set(s.constant(1))
	VFMADD231PS(t, t, den)
	return s.reciprocal(den)
}

// arcTan looks the curve up by w = ArcScale/(1+t).
func (s *isa) arcTan(grad bool, p int) curve {
	if !s.wide {
		return s.arcTanByPolynomial()
	}
	if grad && p == 1 {
		return curve{factor: func(t reg.VecVirtual, p int) reg.VecVirtual { return s.arcTanSlope(t) }}
	}
	g := s.grid(approx.ArcDegree, approx.ArcBits)
	unit := s.set(s.constant(1 / approx.ArcScale))
	parts := func(t reg.VecVirtual) (w, x, y reg.VecVirtual) {
		den := s.vec()
		VMOVAPS(unit, den)
		VFMADD231PS(unit, t, den)
		w = s.reciprocal(den)
		VMULPS(w, t, t)
		return w, t, g.at(w)
	}
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) {
			_, x, y = parts(t)
			return x, y, false
		},
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			w, x, y := parts(t)
			VMULPS(w, w, w)
			VMULPS(y, x, x)
			VMULPS(w, x, x)
			return x
		},
	}
}

// isru is u/sqrt(1+u^2) with u = root t, which is root times the restriction.
func (s *isa) isru(bool, int) curve {
	root := s.broadcast("root")
	inverse := func(t reg.VecVirtual) (u, w reg.VecVirtual) {
		u, den := s.vec(), s.set(s.constant(1))
		VMULPS(root, t, u)
		VFMADD231PS(u, u, den)
		return u, s.reciprocalRoot(den)
	}
	return curve{
		value: func(t reg.VecVirtual) (x, y reg.VecVirtual, negative bool) {
			u, w := inverse(t)
			return u, w, false
		},
		factor: func(t reg.VecVirtual, p int) reg.VecVirtual {
			u, w := inverse(t)
			x := s.vec()
			VMULPS(w, w, x)
			VMULPS(w, x, x)
			if p == 2 {
				VMULPS(w, u, u)
				VMULPS(u, x, x)
			}
			return x
		},
	}
}
