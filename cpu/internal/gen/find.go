package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Predicates of comparisons, ordered: NaN is never found.
const (
	lessThan = 0x11
	notAbove = 0x12
	notBelow = 0x1d
)

// finding writes the kernels that look numbers up in a row of keys.
func (s *isa) finding() {
	s.countBelow()
	s.between()
}

// where returns a bit for each lane of x that compares so with y, and those
// selected by k only.
func (s *isa) where(predicate uint8, y, x reg.VecVirtual, k *mask) reg.GPVirtual {
	bits := GP64()
	if s.wide {
		found := K()
		VCMPPS(Imm(uint64(predicate)), y, x, found)
		if k != nil {
			KANDW(k.reg, found, found)
		}
		KMOVW(found, bits.As32())
		return bits
	}
	found := YMM()
	VCMPPS(Imm(uint64(predicate)), y, x, found)
	if k != nil {
		VANDPS(k.reg, found, found)
	}
	VMOVMSKPS(found, bits.As32())
	return bits
}

func (s *isa) countBelow() {
	s.text("countBelow", "x []float32, limit float32) (n int")
	x, n := base("x"), length("x")
	limit := s.broadcast("limit")
	total := GP64()
	XORQ(total, total)
	s.each(n, []reg.Register{x}, func(k *mask) {
		bits := s.where(lessThan, limit, s.read(x, k), k)
		POPCNTL(bits.As32(), bits.As32())
		ADDQ(bits, total)
	})
	Store(total, ReturnIndex(0))
	finish()
}

// between stores indices one by one: few are found as a rule.
func (s *isa) between() {
	s.text("between", "dst []int32, x []float32, low, high float32) (n int")
	dst, x, n := base("dst"), base("x"), length("x")
	low, high := s.broadcast("low"), s.broadcast("high")
	at, found := GP64(), GP64()
	XORQ(at, at)
	XORQ(found, found)
	s.each(n, []reg.Register{x}, func(k *mask) {
		v := s.read(x, k)
		bits, upper := s.where(notBelow, low, v, k), s.where(notAbove, high, v, k)
		next, done := s.label("next"), s.label("stored")
		ANDQ(upper, bits)
		Label(next)
		TESTQ(bits, bits)
		JZ(LabelRef(done))
		i := GP64()
		TZCNTQ(bits, i)
		ADDQ(at, i)
		MOVL(i.As32(), Mem{Base: dst, Index: found, Scale: 4})
		INCQ(found)
		BLSRQ(bits, bits)
		JMP(LabelRef(next))
		Label(done)
		ADDQ(imm(s.lanes), at)
	})
	Store(found, ReturnIndex(0))
	finish()
}
