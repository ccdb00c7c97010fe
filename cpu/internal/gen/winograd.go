package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winograd writes the transforms of F(4x4, 3x3) and the products between them;
// see cpu/winograd.go.
func (s *isa) winograd() {
	s.fromMap("tilesIn", 6, s.tileIn)
	s.toMap("tilesOut", 4, s.tileOut, true)
	s.fromMap("filtersIn", 3, s.filterIn)
	s.fromMap("gradientsIn", 4, s.gradientIn)
	s.toMap("filtersOut", 3, s.filterOut, false)
	for v := 1; v <= 2; v++ {
		for r := 1; r <= s.rows; r++ {
			s.rowsTile(r, v)
		}
	}
}

// transform is one dimension of a transform; factor returns a constant.
type transform func(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual

// factors returns constants in registers, or in memory if there are few.
func (s *isa) factors() func(float64) Op {
	regs := map[float64]Op{}
	return func(x float64) Op {
		if !s.wide {
			return s.constant(x)
		}
		if regs[x] == nil {
			regs[x] = s.set(s.constant(x))
		}
		return regs[x]
	}
}

// fromMap transforms squares of a map, rows pitch apart: first along each row,
// then along each column, of which the results are 6 vectors stride apart.
func (s *isa) fromMap(name string, size int, f transform) {
	s.text(name, "dst []float32, stride, dstNext int, src []float32, pitch, srcNext, count int, tmp []float32")
	dst, src, tmp := base("dst"), base("src"), base("tmp")
	p, pitch := strides(stride("stride")), stride("pitch")
	dstNext, srcNext, count := stride("dstNext"), stride("srcNext"), integer("count")
	Label("loop")
	factor := s.factors()
	at := GP64()
	MOVQ(src, at)
	for y := range size {
		x := make([]reg.VecVirtual, size)
		for i := range x {
			x[i] = s.vec()
			VMOVUPS(Mem{Base: at, Disp: i * s.bytes()}, x[i])
		}
		for i, v := range f(x, factor) {
			VMOVUPS(v, Mem{Base: tmp, Disp: (i*size + y) * s.bytes()})
		}
		if y < size-1 {
			ADDQ(pitch, at)
		}
	}
	MOVQ(dst, at)
	later := GP64() // stores to six places would wait for them to be fetched
	LEAQ(Mem{Base: dst, Index: dstNext, Scale: 4}, later)
	for i := range 6 {
		x := make([]reg.VecVirtual, size)
		for y := range x {
			x[y] = s.vec()
			VMOVUPS(Mem{Base: tmp, Disp: (i*size + y) * s.bytes()}, x[y])
		}
		for j, v := range f(x, factor) {
			VMOVUPS(v, p.at(at, j))
			PREFETCHT1(p.at(later, j))
		}
		if i < 5 {
			LEAQ(Mem{Base: at, Index: p.three, Scale: 2}, at)
			LEAQ(Mem{Base: later, Index: p.three, Scale: 2}, later)
		}
	}
	ADDQ(srcNext, src)
	ADDQ(dstNext, dst)
	DECQ(count)
	JNZ(LabelRef("loop"))
	finish()
}

// toMap is the way back, from 36 vectors to a square of a map. With ends
// the results are scaled, shifted and limited from below by the vectors at ends,
// unless that is nil.
func (s *isa) toMap(name string, size int, f transform, ends bool) {
	signature := "dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp"
	if ends {
		signature += ", ends"
	}
	s.text(name, signature+" []float32")
	dst, src, tmp := base("dst"), base("src"), base("tmp")
	p, pitch := strides(stride("stride")), stride("pitch")
	dstNext, srcNext, count := stride("dstNext"), stride("srcNext"), integer("count")
	if ends {
		ends := base("ends")
		TESTQ(ends, ends)
		JZ(LabelRef("plain"))
		s.toMapLoop(size, f, dst, src, tmp, pitch, dstNext, srcNext, count, p, func(v reg.VecVirtual) {
			least := s.vec()
			VMOVUPS(Mem{Base: ends, Disp: 2 * s.bytes()}, least)
			VMULPS(Mem{Base: ends}, v, v)
			VADDPS(Mem{Base: ends, Disp: s.bytes()}, v, v)
			VMAXPS(v, least, v) // the second source, v, if it is NaN
		})
		Label("plain")
	}
	s.toMapLoop(size, f, dst, src, tmp, pitch, dstNext, srcNext, count, p, func(reg.VecVirtual) {})
}

func (s *isa) toMapLoop(size int, f transform, dst, src, tmp, pitch, dstNext, srcNext, count reg.Register, p multiples, end func(v reg.VecVirtual)) {
	loop := s.label("loop")
	Label(loop)
	factor := s.factors()
	at := GP64()
	MOVQ(src, at)
	for i := range 6 {
		x := make([]reg.VecVirtual, 6)
		for j := range x {
			x[j] = s.vec()
			VMOVUPS(p.at(at, j), x[j])
		}
		for y, v := range f(x, factor) {
			VMOVUPS(v, Mem{Base: tmp, Disp: (y*6 + i) * s.bytes()})
		}
		if i < 5 {
			LEAQ(Mem{Base: at, Index: p.three, Scale: 2}, at)
		}
	}
	MOVQ(dst, at)
	for y := range size {
		x := make([]reg.VecVirtual, 6)
		for i := range x {
			x[i] = s.vec()
			VMOVUPS(Mem{Base: tmp, Disp: (y*6 + i) * s.bytes()}, x[i])
		}
		for i, v := range f(x, factor) {
			end(v)
			VMOVUPS(v, Mem{Base: at, Disp: i * s.bytes()})
		}
		if y < size-1 {
			ADDQ(pitch, at)
		}
	}
	ADDQ(srcNext, src)
	ADDQ(dstNext, dst)
	DECQ(count)
	JNZ(LabelRef(loop))
	finish()
}

// multiples of a stride address 6 vectors.
type multiples struct{ one, three, five reg.Register }

func strides(one reg.Register) multiples {
	m := multiples{one, GP64(), GP64()}
	LEAQ(Mem{Base: one, Index: one, Scale: 2}, m.three)
	LEAQ(Mem{Base: one, Index: one, Scale: 4}, m.five)
	return m
}

func (m multiples) at(base reg.Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: m.three, Scale: 1}
	case 5:
		return Mem{Base: base, Index: m.five, Scale: 1}
	}
	return Mem{Base: base, Index: m.one, Scale: uint8(i)}
}

// The points are 0, +-1/sqrt 2, +-sqrt 2 and infinity.
const (
	inner = math.Sqrt2 / 2
	outer = math.Sqrt2
)

func (s *isa) plus(x, y reg.VecVirtual) reg.VecVirtual {
	v := s.vec()
	VADDPS(y, x, v)
	return v
}

func (s *isa) minus(x, y reg.VecVirtual) reg.VecVirtual {
	v := s.vec()
	VSUBPS(y, x, v)
	return v
}

// more returns x + k*y, less x - k*y.
func (s *isa) more(x reg.VecVirtual, k Op, y reg.VecVirtual) reg.VecVirtual {
	v := s.vec()
	VMOVAPS(x, v)
	VFMADD231PS(k, y, v)
	return v
}

func (s *isa) less(x reg.VecVirtual, k Op, y reg.VecVirtual) reg.VecVirtual {
	v := s.vec()
	VMOVAPS(x, v)
	VFNMADD231PS(k, y, v)
	return v
}

func (s *isa) times(k Op, x reg.VecVirtual) reg.VecVirtual {
	v := s.vec()
	VMULPS(k, x, v)
	return v
}

// tileIn is B^T x.
func (s *isa) tileIn(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual {
	u, v := s.less(x[4], factor(2), x[2]), s.less(x[3], factor(2), x[1])
	p, q := s.less(x[4], factor(0.5), x[2]), s.less(x[3], factor(0.5), x[1])
	return []reg.VecVirtual{
		s.less(s.plus(x[0], x[4]), factor(2.5), x[2]),
		s.more(u, factor(inner), v), s.less(u, factor(inner), v),
		s.more(p, factor(outer), q), s.less(p, factor(outer), q),
		s.less(s.plus(x[1], x[5]), factor(2.5), x[3]),
	}
}

// tileOut is A^T x.
func (s *isa) tileOut(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual {
	u, v, p, q := s.plus(x[1], x[2]), s.minus(x[1], x[2]), s.plus(x[3], x[4]), s.minus(x[3], x[4])
	return []reg.VecVirtual{
		s.plus(s.plus(x[0], u), p),
		s.more(s.times(factor(inner), v), factor(outer), q),
		s.more(s.times(factor(0.5), u), factor(2), p),
		s.more(s.more(x[5], factor(inner/2), v), factor(2*outer), q),
	}
}

// filterIn is G x.
func (s *isa) filterIn(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual {
	u, p := s.more(x[0], factor(0.5), x[2]), s.more(x[0], factor(2), x[2])
	return []reg.VecVirtual{
		x[0],
		s.times(factor(-2./3), s.more(u, factor(inner), x[1])), s.times(factor(-2./3), s.less(u, factor(inner), x[1])),
		s.times(factor(1./6), s.more(p, factor(outer), x[1])), s.times(factor(1./6), s.less(p, factor(outer), x[1])),
		x[2],
	}
}

// gradientIn is A x.
func (s *isa) gradientIn(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual {
	u, v := s.more(x[0], factor(0.5), x[2]), s.more(x[1], factor(0.5), x[3])
	p, q := s.more(x[0], factor(2), x[2]), s.more(x[1], factor(2), x[3])
	return []reg.VecVirtual{
		x[0],
		s.more(u, factor(inner), v), s.less(u, factor(inner), v),
		s.more(p, factor(outer), q), s.less(p, factor(outer), q),
		x[3],
	}
}

// filterOut is G^T x.
func (s *isa) filterOut(x []reg.VecVirtual, factor func(float64) Op) []reg.VecVirtual {
	u, v, p, q := s.plus(x[1], x[2]), s.minus(x[1], x[2]), s.plus(x[3], x[4]), s.minus(x[3], x[4])
	return []reg.VecVirtual{
		s.more(s.less(x[0], factor(2./3), u), factor(1./6), p),
		s.less(s.times(factor(outer/6), q), factor(inner*2/3), v),
		s.more(x[5], factor(1./3), s.minus(p, u)),
	}
}

// rowsTile is a tile of a product whose left rows are in blocks of a vector, each
// row's terms beside each other.
func (s *isa) rowsTile(rows, vectors int) {
	s.text(fmt.Sprintf("rowsTile%dx%d", rows, vectors), "c []float32, ldc int, a []float32, next int, b []float32, blocks int")
	a, b, c := base("a"), base("b"), base("c")
	next, ldc, blocks := stride("next"), stride("ldc"), integer("blocks")
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		for range vectors {
			acc[i] = append(acc[i], s.zero())
		}
	}
	SUBQ(imm(s.bytes()), next)
	Label("block")
	terms := GP64()
	MOVQ(U32(s.lanes), terms)
	Label("loop")
	columns := make([]reg.VecVirtual, vectors)
	for j := range columns {
		columns[j] = s.vec()
		VMOVUPS(Mem{Base: b, Disp: j * s.bytes()}, columns[j])
	}
	PREFETCHT0(Mem{Base: b, Disp: 32 * s.bytes()})
	for i := range acc {
		x := s.vec()
		VBROADCASTSS(Mem{Base: a, Disp: i * s.bytes()}, x)
		for j := range columns {
			VFMADD231PS(x, columns[j], acc[i][j])
		}
	}
	ADDQ(Imm(4), a)
	ADDQ(imm(2*s.bytes()), b)
	DECQ(terms)
	JNZ(LabelRef("loop"))
	ADDQ(next, a)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	for i := range acc {
		for j := range acc[i] {
			VMOVUPS(acc[i][j], Mem{Base: c, Disp: j * s.bytes()})
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
	finish()
}
