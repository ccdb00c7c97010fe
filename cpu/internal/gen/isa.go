package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set, and what the kernels need of it.
type isa struct {
	name      string
	lanes     int // of a vector of float32
	wide      bool
	rows      int // of a product's tile
	constants map[uint32]Mem
	table     *Mem
	labels    int
}

func (s *isa) bytes() int { return 4 * s.lanes }

func (s *isa) vec() reg.VecVirtual {
	if s.wide {
		return ZMM()
	}
	return YMM()
}

// text begins a kernel; its name ends with that of the instruction set.
func (s *isa) text(name, signature string) {
	TEXT(name+s.name, NOSPLIT, "func("+signature+")")
	Pragma("noescape")
}

// label returns a name that no other label of the kernel has.
func (s *isa) label(name string) string {
	s.labels++
	return fmt.Sprintf("%s%d", name, s.labels)
}

// base loads the address of a slice parameter.
func base(name string) reg.Register { return Load(Param(name).Base(), GP64()) }

func length(name string) reg.Register { return Load(Param(name).Len(), GP64()) }

func integer(name string) reg.Register { return Load(Param(name), GP64()) }

// stride loads a number of floats and turns it into bytes.
func stride(name string) reg.Register {
	r := integer(name)
	SHLQ(Imm(2), r)
	return r
}

// broadcast loads a float32 parameter into all lanes.
func (s *isa) broadcast(name string) reg.VecVirtual {
	v := s.vec()
	m, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(m.Addr, v)
	return v
}

// imm is a constant of the size that 64-bit instructions take.
func imm(n int) Op {
	if n < 128 {
		return U8(n)
	}
	return U32(n)
}

func (s *isa) zero() reg.VecVirtual {
	v := s.vec()
	s.clear(v)
	return v
}

func (s *isa) clear(v reg.Register) {
	if s.wide {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

// constant returns a vector of equal numbers in memory.
func (s *isa) constant(x float64) Mem { return s.bits(math.Float32bits(float32(x))) }

func (s *isa) bits(b uint32) Mem {
	if s.constants == nil {
		s.constants = make(map[uint32]Mem)
	}
	m, ok := s.constants[b]
	if !ok {
		m = GLOBL(fmt.Sprintf("const%s_%08x", s.name, b), RODATA|NOPTR)
		for i := range s.lanes {
			DATA(4*i, U32(b))
		}
		s.constants[b] = m
	}
	return m
}

// set copies a constant into a register.
func (s *isa) set(m Mem) reg.VecVirtual {
	v := s.vec()
	VMOVUPS(m, v)
	return v
}

// mask selects lanes: an opmask or a vector of sign bits.
type mask struct{ reg reg.Register }

// firsts returns masks that select lanes [0, n), [lanes, n), ... of count
// vectors, for n <= 32 (wide) or 16.
func (s *isa) firsts(n reg.Register, count int) []mask {
	var ms []mask
	if s.wide {
		bits := GP64()
		MOVQ(I64(-1), bits)
		BZHIQ(n, bits, bits)
		for i := range count {
			if i > 0 {
				SHRQ(Imm(16), bits)
			}
			k := K()
			KMOVW(bits.As32(), k)
			ms = append(ms, mask{k})
		}
		return ms
	}
	// Sixteen -1 and then sixteen 0: n lanes are set from 16-n on.
	if s.table == nil {
		t := GLOBL("masks"+s.name, RODATA|NOPTR)
		for i := range 32 {
			v := uint32(0)
			if i < 16 {
				v = math.MaxUint32
			}
			DATA(4*i, U32(v))
		}
		s.table = &t
	}
	at := GP64()
	LEAQ(s.table.Offset(64), at)
	from := GP64()
	MOVQ(n, from)
	NEGQ(from)
	for i := range count {
		y := YMM()
		VMOVDQU(Mem{Base: at, Index: from, Scale: 4, Disp: 32 * i}, y)
		ms = append(ms, mask{y})
	}
	return ms
}

// load reads the selected lanes and sets the others to 0.
func (s *isa) load(m Mem, k mask, v reg.Register) {
	if s.wide {
		VMOVUPS_Z(m, k.reg, v)
	} else {
		VMASKMOVPS(m, k.reg, v)
	}
}

// store writes the selected lanes.
func (s *isa) store(v reg.Register, k mask, m Mem) {
	if s.wide {
		VMOVUPS(v, k.reg, m)
	} else {
		VMASKMOVPS(v, k.reg, m)
	}
}

// each is a loop over the vectors of n numbers: body is called once for whole
// vectors and once for the rest, with a mask. It moves the pointers on.
func (s *isa) each(n reg.Register, pointers []reg.Register, body func(k *mask)) {
	loop, tail, done := s.label("loop"), s.label("tail"), s.label("done")
	Label(loop)
	CMPQ(n, imm(s.lanes))
	JLT(LabelRef(tail))
	body(nil)
	for _, p := range pointers {
		ADDQ(imm(s.bytes()), p)
	}
	SUBQ(imm(s.lanes), n)
	JMP(LabelRef(loop))
	Label(tail)
	TESTQ(n, n)
	JZ(LabelRef(done))
	k := s.firsts(n, 1)[0]
	body(&k)
	Label(done)
}

// read and write move a whole vector, or the lanes of a tail.
func (s *isa) read(p reg.Register, k *mask) reg.VecVirtual {
	v := s.vec()
	if k == nil {
		VMOVUPS(Mem{Base: p}, v)
	} else {
		s.load(Mem{Base: p}, *k, v)
	}
	return v
}

func (s *isa) write(v reg.Register, p reg.Register, k *mask) {
	if k == nil {
		VMOVUPS(v, Mem{Base: p})
	} else {
		s.store(v, *k, Mem{Base: p})
	}
}

func finish() {
	VZEROUPPER()
	RET()
}
