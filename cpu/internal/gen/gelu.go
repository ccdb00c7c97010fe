package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/vernier-ml/vernier/internal/approx"
)

// gelu writes the Gaussian error linear unit and its gradient, and both of the form
// with a logistic function.
func (s *isa) gelu() {
	s.elementwise("gelu", "y, x []float32", func() func(p []reg.Register, k *mask) reg.Register {
		far := s.set(s.constant(approx.FarNormal))
		return func(p []reg.Register, k *mask) reg.Register {
			x := s.read(p[0], k)
			share, _ := s.normal(x, far)
			VMULPS(share, x, x)
			return x
		}
	}, "y", "x")
	s.elementwise("geluGrad", "dx, dy, x []float32", func() func(p []reg.Register, k *mask) reg.Register {
		far := s.set(s.constant(approx.FarNormal))
		return func(p []reg.Register, k *mask) reg.Register {
			g, x := s.read(p[0], k), s.read(p[1], k)
			share, e := s.normal(x, far)
			VMULPS(s.constant(0.3989422804014327), e, e) // 1/sqrt(2 pi)
			VFMADD231PS(e, x, share)
			VMULPS(share, g, g)
			return g
		}
	}, "dx", "dy", "x")
	s.elementwise("geluQuick", "y, x []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			x := s.read(p[0], k)
			share, _ := s.logistic(x)
			VMULPS(share, x, x)
			return x
		}
	}, "y", "x")
	s.elementwise("geluQuickGrad", "dx, dy, x []float32", func() func(p []reg.Register, k *mask) reg.Register {
		return func(p []reg.Register, k *mask) reg.Register {
			g, x := s.read(p[0], k), s.read(p[1], k)
			share, slope := s.logistic(x)
			VFMADD231PS(slope, x, share)
			VMULPS(share, g, g)
			return g
		}
	}, "dx", "dy", "x")
}

// quick is the slope at which GELUQuick's logistic function begins.
const quick = 1.702

// logistic returns 1/(1 + e^-quick x) and its slope.
func (s *isa) logistic(x reg.VecVirtual) (share, slope reg.VecVirtual) {
	t := s.distance(x, s.set(s.constant(approx.FarExp)))
	VMULPS(s.constant(quick), t, t)
	e, den := s.fall(t), s.set(s.constant(1))
	VADDPS(e, den, den)
	share = s.reciprocal(den)
	rest := s.vec()
	VMULPS(share, e, rest)
	slope = s.vec()
	VMULPS(share, rest, slope)
	VMULPS(s.constant(quick), slope, slope)
	return s.above(x, share, rest), slope
}

// above returns yes where x > 0, else no, both of which it spoils.
func (s *isa) above(x, yes, no reg.VecVirtual) reg.VecVirtual {
	if s.wide {
		above := K()
		VCMPPS(Imm(0x1e), s.zero(), x, above)
		VMOVAPS(yes, above, no)
		return no
	}
	above := YMM()
	VCMPPS(Imm(0x1e), s.zero(), x, above)
	VBLENDVPS(above, yes, no, no)
	return no
}

// normal returns Phi(x) and e^(-x^2/2), with the tail e^(-x^2/2) t P(t) of
// approx.NormalTail below 0 and 1 minus it above.
func (s *isa) normal(x, far reg.VecVirtual) (share, e reg.VecVirtual) {
	p, c := approx.NormalTail()
	z := s.distance(x, far)
	den, half := s.set(s.constant(1)), s.vec()
	VFMADD231PS(s.constant(float64(p)), z, den)
	t := s.reciprocal(den)
	VMULPS(s.constant(0.5), z, half)
	VMULPS(z, half, half)
	e = s.fall(half)
	tail := s.set(s.constant(float64(c[7])))
	for i := 6; i >= 0; i-- {
		VFMADD213PS(s.constant(float64(c[i])), t, tail)
	}
	VMULPS(t, tail, tail)
	VMULPS(e, tail, tail)
	rest := s.set(s.constant(1))
	VSUBPS(tail, rest, rest)
	return s.above(x, rest, tail), e
}
