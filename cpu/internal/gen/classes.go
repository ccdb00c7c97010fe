package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// classes writes the kernels of losses over class rows.
func (s *isa) classes() {
	s.elementwise("quadratic", "y, x []float32, a, b, c float32", func() func(p []reg.Register, k *mask) reg.Register {
		a, b, c := s.broadcast("a"), s.broadcast("b"), s.broadcast("c")
		return func(p []reg.Register, k *mask) reg.Register { return s.polynomial(s.read(p[0], k), a, b, c) }
	}, "y", "x")
	s.elementwise("columnGrad", "dx, x, most, share []float32, a, b, c float32", func() func(p []reg.Register, k *mask) reg.Register {
		a, b, c, double := s.broadcast("a"), s.broadcast("b"), s.broadcast("c"), s.vec()
		VADDPS(c, c, double)
		return func(p []reg.Register, k *mask) reg.Register {
			x, t := s.read(p[0], k), s.read(p[1], k)
			VSUBPS(s.polynomial(x, a, b, c), t, t)
			e := s.fall(t)
			VMULPS(s.read(p[2], k), e, e)
			VFMADD213PS(b, double, x)
			VMULPS(x, e, e)
			return e
		}
	}, "dx", "x", "most", "share")
	s.columnExp()
}

// polynomial returns a + b x + c x^2.
func (s *isa) polynomial(x, a, b, c reg.VecVirtual) reg.VecVirtual {
	y := s.vec()
	VMOVAPS(c, y)
	VFMADD213PS(b, x, y)
	VFMADD213PS(a, x, y)
	return y
}

func (s *isa) columnExp() {
	s.text("columnExp", "sums, x, most []float32")
	sums, x, most, n := base("sums"), base("x"), base("most"), length("sums")
	s.each(n, []reg.Register{sums, x, most}, func(k *mask) {
		t := s.read(most, k)
		VSUBPS(s.read(x, k), t, t)
		e := s.fall(t)
		VADDPS(s.read(sums, k), e, e)
		s.write(e, sums, k)
	})
	finish()
}
