package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/vernier-ml/vernier/internal/approx"
)

// exponent splits e^-ft = s + s q into s = 2^n and q = e^r - 1.
func (s *isa) exponent(t reg.VecVirtual, f int) (scale, q reg.VecVirtual) {
	// Adding 1.5 2^23 rounds to an integer n, which then lies in the low bits:
	// e^-ft = 2^n e^r with n <= 0.
	magic, tail := s.constant(1.5*(1<<23)), approx.ExpTail()
	u, n, r := s.set(magic), s.vec(), s.vec()
	scale = s.vec()
	VFNMADD231PS(s.constant(float64(f)*approx.Log2E), t, u)
	VSUBPS(magic, u, n)
	VPSLLD(Imm(23), u, scale)
	VPADDD(s.constant(1), scale, scale)
	if f == 1 {
		VMOVAPS(t, r)
	} else {
		VADDPS(t, t, r)
	}
	VFNMSUB231PS(s.constant(approx.Ln2), n, r)
	q = s.set(s.constant(float64(tail[3])))
	square := s.vec()
	for i := 2; i >= 0; i-- {
		VFMADD213PS(s.constant(float64(tail[i])), r, q)
	}
	VMULPS(r, r, square)
	VFMADD213PS(r, square, q)
	return scale, q
}

// fall returns e^-t for t >= 0, 0 beyond approx.FarExp. NaN stays NaN.
func (s *isa) fall(t reg.VecVirtual) reg.VecVirtual {
	scale, q := s.exponent(t, 1)
	VFMADD213PS(scale, scale, q)
	far := s.constant(approx.FarExp)
	if s.wide {
		near := K()
		VCMPPS(Imm(0x1a), far, t, near) // not t > far
		VMOVAPS_Z(q, near, q)
	} else {
		near := YMM()
		VCMPPS(Imm(0x1a), far, t, near)
		VANDPS(near, q, q)
	}
	return q
}

// exp adds up in float64. Lanes beyond the end are 0.
func (s *isa) exp() {
	s.text("exp", "y, x []float32, scale, most float32) (total float64")
	y, x, n := base("y"), base("x"), length("y")
	scale, most := s.broadcast("scale"), s.broadcast("most")
	acc := [2]reg.VecVirtual{s.zero(), s.zero()}
	s.each(n, []reg.Register{y, x}, func(k *mask) {
		t := s.read(x, k)
		VSUBPS(t, most, t)
		VMULPS(scale, t, t)
		if k != nil {
			t = s.fill(t, s.set(s.constant(math.Inf(1))), *k)
		}
		e := s.fall(t)
		s.write(e, y, k)
		for h, v := range s.widen(e) {
			VADDPD(v, acc[h], acc[h])
		}
	})
	VADDPD(acc[1], acc[0], acc[0])
	Store(s.total64(acc[0]), ReturnIndex(0))
	finish()
}
