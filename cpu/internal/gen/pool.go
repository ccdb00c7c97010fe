package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pools writes the kernels of pooling.
func (s *isa) pools() {
	s.route()
	s.split()
	s.merge()
	s.poolPlanes()
}

// route gives what is left of the gradient of each window to one of its cells
// if that is the maximum.
func (s *isa) route() {
	s.text("route", "dx, left, x, y []float32")
	dx, left, x, y, n := base("dx"), base("left"), base("x"), base("y"), length("dx")
	s.each(n, []reg.Register{dx, left, x, y}, func(k *mask) {
		most, cell, rest, sum := s.read(y, k), s.read(x, k), s.read(left, k), s.read(dx, k)
		given := s.vec()
		if s.wide {
			is := K()
			VCMPPS(Imm(0x1d), most, cell, is) // cell >= most
			VMOVAPS_Z(rest, is, given)
			KNOTW(is, is)
			VMOVAPS_Z(rest, is, rest)
		} else {
			VCMPPS(Imm(0x1d), most, cell, cell)
			VANDPS(rest, cell, given)
			VANDNPS(rest, cell, rest)
		}
		VADDPS(given, sum, sum)
		s.write(sum, dx, k)
		s.write(rest, left, k)
	})
	finish()
}

// split takes the numbers at even and odd places apart.
func (s *isa) split() {
	s.text("split", "even, odd, x []float32")
	even, odd, x, n := base("even"), base("odd"), base("x"), length("x")
	var places [2]reg.VecVirtual
	if s.wide {
		for h, name := range []string{"even", "odd"} {
			places[h] = s.set(s.lanesOf(name, func(l int) int { return 2*l + h }))
		}
	}
	apart := func(u, v reg.VecVirtual, h int) reg.VecVirtual {
		w := s.vec()
		if s.wide {
			VMOVAPS(places[h], w)
			VPERMI2PS(v, u, w)
			return w
		}
		VSHUFPS(Imm([]uint64{0x88, 0xdd}[h]), v, u, w)
		VPERMPD(Imm(0xd8), w, w)
		return w
	}
	Label("loop")
	CMPQ(n, imm(2*s.lanes))
	JLT(LabelRef("tail"))
	u, v := s.vec(), s.vec()
	VMOVUPS(Mem{Base: x}, u)
	VMOVUPS(Mem{Base: x, Disp: s.bytes()}, v)
	VMOVUPS(apart(u, v, 0), Mem{Base: even})
	VMOVUPS(apart(u, v, 1), Mem{Base: odd})
	ADDQ(imm(s.bytes()), even)
	ADDQ(imm(s.bytes()), odd)
	ADDQ(imm(2*s.bytes()), x)
	SUBQ(imm(2*s.lanes), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	evens, odds, ends := s.halves(n)
	s.load(Mem{Base: x}, ends[0], u)
	s.load(Mem{Base: x, Disp: s.bytes()}, ends[1], v)
	s.store(apart(u, v, 0), evens, Mem{Base: even})
	s.store(apart(u, v, 1), odds, Mem{Base: odd})
	Label("done")
	finish()
}

// merge is the inverse of split.
func (s *isa) merge() {
	s.text("merge", "x, even, odd []float32")
	even, odd, x, n := base("even"), base("odd"), base("x"), length("x")
	var places [2]reg.VecVirtual
	if s.wide {
		for h, name := range []string{"low", "high"} {
			places[h] = s.set(s.lanesOf(name, func(l int) int { return l/2 + l%2*s.lanes + h*s.lanes/2 }))
		}
	}
	step := func(e, o reg.VecVirtual) (low, high reg.VecVirtual) {
		low, high = s.vec(), s.vec()
		if s.wide {
			VMOVAPS(places[0], low)
			VMOVAPS(places[1], high)
			VPERMI2PS(o, e, low)
			VPERMI2PS(o, e, high)
			return low, high
		}
		a, b := s.vec(), s.vec()
		VUNPCKLPS(o, e, a)
		VUNPCKHPS(o, e, b)
		VPERM2F128(Imm(0x20), b, a, low)
		VPERM2F128(Imm(0x31), b, a, high)
		return low, high
	}
	Label("loop")
	CMPQ(n, imm(2*s.lanes))
	JLT(LabelRef("tail"))
	low, high := step(s.read(even, nil), s.read(odd, nil))
	VMOVUPS(low, Mem{Base: x})
	VMOVUPS(high, Mem{Base: x, Disp: s.bytes()})
	ADDQ(imm(s.bytes()), even)
	ADDQ(imm(s.bytes()), odd)
	ADDQ(imm(2*s.bytes()), x)
	SUBQ(imm(2*s.lanes), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	evens, odds, ends := s.halves(n)
	low, high = step(s.read(even, &evens), s.read(odd, &odds))
	s.store(low, ends[0], Mem{Base: x})
	s.store(high, ends[1], Mem{Base: x, Disp: s.bytes()})
	Label("done")
	finish()
}

// halves returns the masks of n < 2 lanes numbers in two vectors, and of those
// of them that have even and odd places.
func (s *isa) halves(n reg.Register) (even, odd mask, both []mask) {
	e, o := GP64(), GP64()
	MOVQ(n, o)
	SHRQ(Imm(1), o)
	LEAQ(Mem{Base: n, Disp: 1}, e)
	SHRQ(Imm(1), e)
	return s.firsts(e, 1)[0], s.firsts(o, 1)[0], s.firsts(n, 2)
}

// lanesOf returns a vector of integers in memory, by lane.
func (s *isa) lanesOf(name string, at func(lane int) int) Mem {
	m := GLOBL(fmt.Sprintf("%sLanes%s", name, s.name), RODATA|NOPTR)
	for l := range s.lanes {
		DATA(4*l, U32(at(l)))
	}
	return m
}
