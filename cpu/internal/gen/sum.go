package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sums writes the sums of normalization, in float64.
func (s *isa) sums() {
	s.sum("sum", "x []float32) (total float64", []string{"x"}, func(v [][2]reg.VecVirtual, _ reg.VecVirtual, acc [2]reg.VecVirtual) {
		for h := range acc {
			VADDPD(v[0][h], acc[h], acc[h])
		}
	})
	s.sum("spread", "x []float32, center float32) (total float64", []string{"x"}, func(v [][2]reg.VecVirtual, center reg.VecVirtual, acc [2]reg.VecVirtual) {
		for h := range acc {
			VSUBPD(center, v[0][h], v[0][h])
			VFMADD231PD(v[0][h], v[0][h], acc[h])
		}
	})
	s.sum("project", "y, x []float32, center float32) (total float64", []string{"y", "x"}, func(v [][2]reg.VecVirtual, center reg.VecVirtual, acc [2]reg.VecVirtual) {
		for h := range acc {
			VSUBPD(center, v[1][h], v[1][h])
			VFMADD231PD(v[0][h], v[1][h], acc[h])
		}
	})
}

// sum writes a kernel that adds up terms of slices widened to float64, the halves
// of a vector apart. Lanes beyond the end read as the center, except those of the
// first of two slices, which read as 0.
func (s *isa) sum(name, signature string, slices []string, term func(v [][2]reg.VecVirtual, center reg.VecVirtual, acc [2]reg.VecVirtual)) {
	s.text(name, signature)
	var p []reg.Register
	for _, n := range slices {
		p = append(p, base(n))
	}
	n := length(slices[0])
	var narrow, center reg.VecVirtual
	if name != "sum" {
		narrow = s.broadcast("center")
		center = s.vec()
		VCVTPS2PD(half(narrow), center)
	}
	acc := [2]reg.VecVirtual{s.zero(), s.zero()}
	s.each(n, p, func(k *mask) {
		v := make([][2]reg.VecVirtual, len(p))
		for i := range p {
			x := s.read(p[i], k)
			if k != nil && narrow != nil && i == len(p)-1 {
				x = s.fill(x, narrow, *k)
			}
			v[i] = s.widen(x)
		}
		term(v, center, acc)
	})
	VADDPD(acc[1], acc[0], acc[0])
	total := s.total64(acc[0])
	Store(total, ReturnIndex(0))
	finish()
}

// widen returns the halves of x as float64.
func (s *isa) widen(x reg.VecVirtual) [2]reg.VecVirtual {
	lo, hi, top := s.vec(), s.vec(), s.vec()
	VCVTPS2PD(half(x), lo)
	if s.wide {
		VEXTRACTF32X8(Imm(1), x, half(top))
	} else {
		VEXTRACTF128(Imm(1), x, half(top))
	}
	VCVTPS2PD(half(top), hi)
	return [2]reg.VecVirtual{lo, hi}
}

// fill replaces lanes that are not selected.
func (s *isa) fill(x, by reg.VecVirtual, k mask) reg.VecVirtual {
	v := s.vec()
	if s.wide {
		VMOVAPS(by, v)
		VMOVAPS(x, k.reg, v)
	} else {
		VBLENDVPS(k.reg, x, by, v)
	}
	return v
}

// half returns the register that is the lower half of v.
func half(v reg.VecVirtual) reg.Register {
	if v.Size() == 64 {
		return v.AsY()
	}
	return v.AsX()
}

// total64 adds the float64 lanes.
func (s *isa) total64(v reg.VecVirtual) reg.Register {
	if s.wide {
		top := YMM()
		VEXTRACTF64X4(Imm(1), v, top)
		VADDPD(top, v.AsY(), v.AsY())
	}
	top := XMM()
	VEXTRACTF128(Imm(1), v.AsY(), top)
	VADDPD(top, v.AsX(), v.AsX())
	VPERMILPD(Imm(1), v.AsX(), top)
	VADDSD(top, v.AsX(), v.AsX())
	return v.AsX()
}

// total32 adds the float32 lanes.
func (s *isa) total32(v reg.VecVirtual) reg.Register {
	s.halve(v, func(x, y, to reg.Register) { VADDPS(x, y, to) })
	return v.AsX()
}
