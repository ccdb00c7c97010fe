package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Neither avo nor Go's assembler knows the instructions of AVX-512 BF16: they are written
// as encoded bytes, for which the registers have to be known.

// zmm returns the vector register of a number.
func zmm(i int) reg.Register {
	return []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}[i]
}

// number is that of a vector register.
func number(r reg.Register) uint32 { return uint32(r.(reg.Physical).PhysicalIndex()) }

// encoded writes the instruction of three whole vector registers with opcode in the table
// 0F38 behind a prefix, 2 for F3 and 3 for F2: dst by x and y (Intel's order).
func encoded(prefix, opcode uint32, dst, x, y reg.Register, inputs ...Op) {
	d, a, b := number(dst), number(x), number(y)
	not := func(r uint32, bit, at int) uint32 { return (^r >> bit & 1) << at }
	p1 := not(d, 3, 7) | not(b, 4, 6) | not(b, 3, 5) | not(d, 4, 4) | 2
	p2 := (^a&15)<<3 | 1<<2 | prefix
	p3 := uint32(2<<5) | not(a, 4, 3)
	Instruction(&ir.Instruction{
		Opcode: "LONG", Operands: []Op{U32(0x62 | p1<<8 | p2<<16 | p3<<24)},
		Inputs: append(inputs, x, y), Outputs: []Op{dst},
	})
	Instruction(&ir.Instruction{Opcode: "WORD", Operands: []Op{U16(opcode | (0xc0|d&7<<3|b&7)<<8)}})
}

// narrow writes the kernels of products of bfloat16.
func (s *isa) narrow() {
	by := arithmetic{
		name:   "narrowTile",
		sum:    zmm,
		column: func(i int) reg.Register { return zmm(28 + i) },
		row:    func(i int) reg.Register { return zmm(30 + i%2) },
		// VDPBF16PS
		multiply: func(x, y, sum reg.Register) { encoded(2, 0x52, sum, x, y, sum) },
	}
	for v := 1; v <= 2; v++ {
		for r := 1; r <= s.rows; r++ {
			s.tile(by, r, v)
		}
	}
	s.pairs16()
}

// pairs16 rounds rows of up to two vectors to bfloat16, two rows to one of words.
func (s *isa) pairs16() {
	s.text("narrowPairs", "dst, src []float32, width, pairs int")
	dst, src := base("dst"), base("src")
	width, pairs := stride("width"), integer("pairs")
	order := GLOBL("interleave"+s.name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)|uint32(16+i)<<16))
	}
	index := s.set(order)
	columns := s.firsts(integer("width"), 2)
	CMPQ(width, imm(s.bytes()))
	JLE(LabelRef("one"))
	low, high, both := zmm(0), zmm(1), zmm(2)
	for _, vectors := range []int{2, 1} {
		if vectors == 1 {
			Label("one")
		}
		loop := s.label("loop")
		Label(loop)
		for i := range vectors {
			s.load(Mem{Base: src, Disp: i * s.bytes()}, columns[i], low)
			s.load(Mem{Base: src, Index: width, Scale: 1, Disp: i * s.bytes()}, columns[i], high)
			encoded(3, 0x72, both, high, low) // VCVTNE2PS2BF16
			VPERMW(both, index, both)
			s.store(both, columns[i], Mem{Base: dst, Disp: i * s.bytes()})
		}
		LEAQ(Mem{Base: src, Index: width, Scale: 2}, src)
		ADDQ(width, dst)
		DECQ(pairs)
		JNZ(LabelRef(loop))
		finish()
	}
}
