package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors writes the element-wise kernels.
func (s *isa) vectors() {
	s.elementwise("add", "dst, a, b []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			v := s.read(p[0], k)
			VADDPS(s.read(p[1], k), v, v)
			return v
		}
	}, "dst", "a", "b")
	s.elementwise("multiply", "dst, a, b []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			v := s.read(p[0], k)
			VMULPS(s.read(p[1], k), v, v)
			return v
		}
	}, "dst", "a", "b")
	s.elementwise("scale", "dst, a []float32, s float32", func() func(p []reg.Register, k *mask) reg.Register {
		by := s.broadcast("s")
		return func(p []reg.Register, k *mask) reg.Register {
			v := s.read(p[0], k)
			VMULPS(by, v, v)
			return v
		}
	}, "dst", "a")
	s.elementwise("relu", "y, x []float32", func() func(p []reg.Register, k *mask) reg.Register {
		zero := s.zero()
		return func(p []reg.Register, k *mask) reg.Register {
			v := s.read(p[0], k)
			VMAXPS(v, zero, v) // the second source, v, if one is NaN
			return v
		}
	}, "y", "x")
	s.elementwise("reluGrad", "dx, dy, y []float32", func() func(p []reg.Register, k *mask) reg.Register {
		zero := s.zero()
		return func(p []reg.Register, k *mask) reg.Register {
			g, y := s.read(p[0], k), s.read(p[1], k)
			if s.wide {
				above := K()
				VCMPPS(Imm(0x1e), zero, y, above) // y > 0
				VMOVUPS_Z(g, above, g)
			} else {
				VCMPPS(Imm(0x1e), zero, y, y)
				VANDPS(y, g, g)
			}
			return g
		}
	}, "dx", "dy", "y")
	s.elementwise("boundGrad", "dx, dy, y []float32, ceiling float32", func() func(p []reg.Register, k *mask) reg.Register {
		zero, ceiling := s.zero(), s.broadcast("ceiling")
		return func(p []reg.Register, k *mask) reg.Register {
			g, y := s.read(p[0], k), s.read(p[1], k)
			if s.wide {
				above, below := K(), K()
				VCMPPS(Imm(0x1e), zero, y, above)    // y > 0
				VCMPPS(Imm(0x11), ceiling, y, below) // y < ceiling
				KANDW(above, below, below)
				VMOVUPS_Z(g, below, g)
			} else {
				below := s.vec()
				VCMPPS(Imm(0x11), ceiling, y, below)
				VCMPPS(Imm(0x1e), zero, y, y)
				VANDPS(y, g, g)
				VANDPS(below, g, g)
			}
			return g
		}
	}, "dx", "dy", "y")
	s.elementwise("maximum", "dst, a, b []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register { return s.greater(s.read(p[0], k), s.read(p[1], k)) }
	}, "dst", "a", "b")
	s.elementwise("maximum3", "dst, a, b, c []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			return s.greater(s.greater(s.read(p[0], k), s.read(p[1], k)), s.read(p[2], k))
		}
	}, "dst", "a", "b", "c")
	s.elementwise("add3", "dst, a, b, c []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			v := s.read(p[0], k)
			VADDPS(s.read(p[1], k), v, v)
			VADDPS(s.read(p[2], k), v, v)
			return v
		}
	}, "dst", "a", "b", "c")
	s.elementwise("normGrad", "dx, dy, x []float32, a, b, center, c float32", func() func(p []reg.Register, k *mask) reg.Register {
		a, b, center, c := s.broadcast("a"), s.broadcast("b"), s.broadcast("center"), s.broadcast("c")
		return func(p []reg.Register, k *mask) reg.Register {
			g, x := s.read(p[0], k), s.read(p[1], k)
			VSUBPS(center, x, x)
			VFMADD213PS(c, a, g)
			VFMADD231PS(b, x, g)
			return g
		}
	}, "dx", "dy", "x")
	s.affine()
	s.finite()
}

// greater returns the maximum; NaN wins.
func (s *isa) greater(a, b reg.VecVirtual) reg.VecVirtual {
	m := s.vec()
	VMAXPS(b, a, m) // the second source, b, if one is NaN
	if s.wide {
		nan := K()
		VCMPPS(Imm(3), a, a, nan)
		VMOVAPS(a, nan, m)
	} else {
		nan := YMM()
		VCMPPS(Imm(3), a, a, nan)
		VBLENDVPS(nan, a, m, m)
	}
	return m
}

// elementwise writes a kernel over equally long slices, the first of which is
// the destination.
func (s *isa) elementwise(name, signature string, setup func() func(p []reg.Register, k *mask) reg.Register, slices ...string) {
	s.text(name, signature)
	var p []reg.Register
	for _, n := range slices {
		p = append(p, base(n))
	}
	n := length(slices[0])
	body := setup()
	s.each(n, p, func(k *mask) { s.write(body(p[1:], k), p[0], k) })
	finish()
}

func (s *isa) affine() {
	s.text("affine", "y, x, residual []float32, center, scale, shift, ceiling float32")
	y, x, residual, n := base("y"), base("x"), base("residual"), length("y")
	center, scale, shift := s.broadcast("center"), s.broadcast("scale"), s.broadcast("shift")
	least, ceiling := s.rectifier()
	value := func(k *mask) reg.VecVirtual {
		v := s.read(x, k)
		VSUBPS(center, v, v)
		VFMADD213PS(shift, scale, v)
		return v
	}
	TESTQ(residual, residual)
	JZ(LabelRef("plain"))
	s.each(n, []reg.Register{y, x, residual}, func(k *mask) {
		v := value(k)
		VADDPS(s.read(residual, k), v, v)
		VMAXPS(v, least, v)
		VMINPS(v, ceiling, v)
		s.write(v, y, k)
	})
	finish()
	Label("plain")
	s.each(n, []reg.Register{y, x}, func(k *mask) {
		v := value(k)
		VMAXPS(v, least, v)
		VMINPS(v, ceiling, v)
		s.write(v, y, k)
	})
	finish()
}

// rectifier returns the bounds that the parameter ceiling asks for: without one, where it
// is 0, they are infinite.
func (s *isa) rectifier() (least, ceiling reg.VecVirtual) {
	least, ceiling = s.set(s.constant(math.Inf(-1))), s.set(s.constant(math.Inf(1)))
	m, err := Param("ceiling").Resolve()
	if err != nil {
		panic(err)
	}
	asked := GP32()
	MOVL(m.Addr, asked)
	TESTL(asked, asked)
	JZ(LabelRef("linear"))
	s.clear(least)
	VBROADCASTSS(m.Addr, ceiling)
	Label("linear")
	return least, ceiling
}

// finite finds an exponent of all ones: x-x is 0 for every number.
func (s *isa) finite() {
	s.text("finite", "x []float32) (ok bool")
	x, n := base("x"), length("x")
	bad := s.zero()
	s.each(n, []reg.Register{x}, func(k *mask) {
		v := s.read(x, k)
		VSUBPS(v, v, v)
		VORPS(v, bad, bad)
	})
	ok := GP8()
	zero := s.zero()
	if s.wide {
		k, bits := K(), GP32()
		VCMPPS(Imm(3), zero, bad, k) // unordered
		KMOVW(k, bits)
		TESTL(bits, bits)
	} else {
		bits := GP32()
		VCMPPS(Imm(3), zero, bad, bad)
		VMOVMSKPS(bad, bits)
		TESTL(bits, bits)
	}
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	finish()
}
