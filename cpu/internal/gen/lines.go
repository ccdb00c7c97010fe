package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lines writes the kernels, over rows, of layer normalization and softmax.
func (s *isa) lines() {
	s.elementwise("layerNorm", "y, x, gamma, beta []float32, center, scale, shift float32", func() func(p []reg.Register, k *mask) reg.Register {
		center, scale, shift := s.broadcast("center"), s.broadcast("scale"), s.broadcast("shift")
		return func(p []reg.Register, k *mask) reg.Register {
			x, gamma, beta := s.read(p[0], k), s.read(p[1], k), s.read(p[2], k)
			VSUBPS(center, x, x)
			VFMADD213PS(shift, scale, x)
			VFMADD213PS(beta, gamma, x)
			return x
		}
	}, "y", "x", "gamma", "beta")
	s.elementwise("layerNormGrad", "dx, dy, x, gamma []float32, a, b, center, c float32", func() func(p []reg.Register, k *mask) reg.Register {
		a, b, center, c := s.broadcast("a"), s.broadcast("b"), s.broadcast("center"), s.broadcast("c")
		return func(p []reg.Register, k *mask) reg.Register {
			g, x := s.read(p[0], k), s.read(p[1], k)
			VMULPS(s.read(p[2], k), g, g)
			VSUBPS(center, x, x)
			VFMADD213PS(c, b, x)
			VFMADD213PS(x, a, g)
			return g
		}
	}, "dx", "dy", "x", "gamma")
	s.elementwise("softmaxGrad", "dx, dy, y []float32, along, scale float32", func() func(p []reg.Register, k *mask) reg.Register {
		along, scale := s.broadcast("along"), s.broadcast("scale")
		return func(p []reg.Register, k *mask) reg.Register {
			g, y := s.read(p[0], k), s.read(p[1], k)
			VSUBPS(along, g, g)
			VMULPS(scale, g, g)
			VMULPS(y, g, g)
			return g
		}
	}, "dx", "dy", "y")
	s.layerNormSums()
	s.normSums()
	s.largest()
	s.exp()
}

// layerNormSums rounds its terms to float32 and adds them up in float64. Lanes
// beyond the end have a dy of 0.
func (s *isa) layerNormSums() {
	s.text("layerNormSums", "dy, x, gamma []float32, center float32) (total, along float64")
	dy, x, gamma, n := base("dy"), base("x"), base("gamma"), length("dy")
	center := s.broadcast("center")
	total, along := [2]reg.VecVirtual{s.zero(), s.zero()}, [2]reg.VecVirtual{s.zero(), s.zero()}
	s.each(n, []reg.Register{dy, x, gamma}, func(k *mask) {
		g, d := s.read(dy, k), s.read(x, k)
		VMULPS(s.read(gamma, k), g, g)
		VSUBPS(center, d, d)
		terms, offs := s.widen(g), s.widen(d)
		for h := range terms {
			VADDPD(terms[h], total[h], total[h])
			VFMADD231PD(terms[h], offs[h], along[h])
		}
	})
	for i, sum := range [][2]reg.VecVirtual{total, along} {
		VADDPD(sum[1], sum[0], sum[0])
		Store(s.total64(sum[0]), ReturnIndex(i))
	}
	finish()
}

func (s *isa) normSums() {
	s.text("normSums", "gain, shift, dy, x []float32, center, scale float32")
	gain, shift, dy, x, n := base("gain"), base("shift"), base("dy"), base("x"), length("gain")
	center, scale := s.broadcast("center"), s.broadcast("scale")
	s.each(n, []reg.Register{gain, shift, dy, x}, func(k *mask) {
		g, d, a, b := s.read(dy, k), s.read(x, k), s.read(gain, k), s.read(shift, k)
		VSUBPS(center, d, d)
		VMULPS(scale, d, d)
		VFMADD231PS(g, d, a)
		VADDPS(g, b, b)
		s.write(a, gain, k)
		s.write(b, shift, k)
	})
	finish()
}

// largest keeps the maximum of the numbers, and apart from it whether one of
// them was NaN.
func (s *isa) largest() {
	s.text("largest", "x []float32) (most float32")
	x, n := base("x"), length("x")
	least, most := s.constant(math.Inf(-1)), s.vec()
	VMOVUPS(least, most)
	var nan reg.Register = s.zero()
	if s.wide {
		nan = K()
		KXORW(nan, nan, nan)
	}
	s.each(n, []reg.Register{x}, func(k *mask) {
		v := s.read(x, k)
		if k != nil {
			v = s.fill(v, s.set(least), *k)
		}
		VMAXPS(most, v, most) // the second source, most, if v is NaN
		if s.wide {
			is := K()
			VCMPPS(Imm(3), v, v, is) // unordered
			KORW(is, nan, nan)
		} else {
			VCMPPS(Imm(3), v, v, v)
			VORPS(v, nan, nan)
		}
	})
	bits := GP32()
	if s.wide {
		KMOVW(nan, bits)
	} else {
		VMOVMSKPS(nan, bits)
	}
	s.halve(most, func(x, y, to reg.Register) { VMAXPS(x, y, to) })
	result := most.AsX()
	TESTL(bits, bits)
	JZ(LabelRef("numbers"))
	VBROADCASTSS(s.bits(math.Float32bits(float32(math.NaN()))), result)
	Label("numbers")
	Store(result, ReturnIndex(0))
	finish()
}

// halve combines the float32 lanes into the first one.
func (s *isa) halve(v reg.VecVirtual, combine func(x, y, to reg.Register)) {
	if s.wide {
		top := YMM()
		VEXTRACTF64X4(Imm(1), v, top)
		combine(top, v.AsY(), v.AsY())
	}
	top := XMM()
	if s.wide { // the other form knows sixteen registers only
		VEXTRACTF32X4(Imm(1), v.AsY(), top)
	} else {
		VEXTRACTF128(Imm(1), v.AsY(), top)
	}
	combine(top, v.AsX(), v.AsX())
	VPERMILPD(Imm(1), v.AsX(), top)
	combine(top, v.AsX(), v.AsX())
	VMOVSHDUP(v.AsX(), top)
	combine(top, v.AsX(), v.AsX())
}
