package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packing writes the kernels that bring operands into panels.
func (s *isa) packing() {
	s.transpose()
	s.copyRows()
	s.copyPanels()
	s.fetch()
	s.gatherRuns()
	s.gatherTaps()
	s.gatherLanes()
}

// fetch asks for whole cache lines, into the second-level cache.
func (s *isa) fetch() {
	s.text("fetch", "x []float32")
	x, n := base("x"), length("x")
	ADDQ(imm(15), n)
	SHRQ(Imm(4), n)
	JZ(LabelRef("fetched"))
	Label("line")
	PREFETCHT1(Mem{Base: x})
	ADDQ(imm(64), x)
	DECQ(n)
	JNZ(LabelRef("line"))
	Label("fetched")
	RET()
}

// transpose handles up to a vector of rows, and of the width to fill.
func (s *isa) transpose() {
	s.text("transposeTile", "dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int")
	dst, src := base("dst"), base("src")
	dstStride, srcStride := stride("dstStride"), stride("srcStride")
	rows, cols := integer("rows"), integer("cols")
	width := s.firsts(integer("width"), 1)[0]

	Label("block")
	n := GP64()
	MOVQ(cols, n)
	whole := GP64()
	MOVQ(U32(s.lanes), whole)
	CMPQ(n, whole)
	CMOVQGT(whole, n)
	k := s.firsts(n, 1)[0]
	// Rows that there are, then zeros.
	x := make([]reg.VecVirtual, s.lanes)
	from := GP64()
	MOVQ(src, from)
	for i := range x {
		x[i] = s.vec()
	}
	for i := range x {
		if i > 0 {
			CMPQ(rows, imm(i))
			JLE(LabelRef(fmt.Sprintf("zero%d", i)))
			ADDQ(srcStride, from)
		}
		// The next block but one: rows are mostly too many, and too far apart, for
		// the processor to notice.
		PREFETCHT0(Mem{Base: from, Disp: 128})
		s.load(Mem{Base: from}, k, x[i])
	}
	JMP(LabelRef("shuffle"))
	for i := 1; i < s.lanes; i++ {
		Label(fmt.Sprintf("zero%d", i))
		s.clear(x[i])
	}
	Label("shuffle")
	y := s.transposed(x)
	SUBQ(n, cols)
	ADDQ(imm(s.bytes()), src)
	for i := range y {
		s.store(y[i], width, Mem{Base: dst})
		ADDQ(dstStride, dst)
		if i < len(y)-1 {
			DECQ(n)
			JZ(LabelRef("stored"))
		}
	}
	Label("stored")
	TESTQ(cols, cols)
	JNZ(LabelRef("block"))
	finish()
}

// transposed returns the columns of a square of rows.
func (s *isa) transposed(x []reg.VecVirtual) []reg.VecVirtual {
	// Inside each lane of 128 bits: u[g][c] holds columns c, 4+c, 8+c, ... of rows
	// 4g to 4g+3.
	var u [][4]reg.VecVirtual
	for g := 0; g < len(x); g += 4 {
		var t [4]reg.VecVirtual
		for i := range t {
			t[i] = s.vec()
		}
		VUNPCKLPS(x[g+1], x[g], t[0])
		VUNPCKHPS(x[g+1], x[g], t[1])
		VUNPCKLPS(x[g+3], x[g+2], t[2])
		VUNPCKHPS(x[g+3], x[g+2], t[3])
		var c [4]reg.VecVirtual
		for i := range c {
			c[i] = s.vec()
		}
		VUNPCKLPD(t[2], t[0], c[0])
		VUNPCKHPD(t[2], t[0], c[1])
		VUNPCKLPD(t[3], t[1], c[2])
		VUNPCKHPD(t[3], t[1], c[3])
		u = append(u, c)
	}
	y := x // whose values are no longer needed
	for c := range 4 {
		if !s.wide {
			VPERM2F128(Imm(0x20), u[1][c], u[0][c], y[c])
			VPERM2F128(Imm(0x31), u[1][c], u[0][c], y[4+c])
			continue
		}
		even, odd := [2]reg.VecVirtual{ZMM(), ZMM()}, [2]reg.VecVirtual{ZMM(), ZMM()}
		for h := range 2 {
			VSHUFF32X4(Imm(0x88), u[2*h+1][c], u[2*h][c], even[h])
			VSHUFF32X4(Imm(0xdd), u[2*h+1][c], u[2*h][c], odd[h])
		}
		VSHUFF32X4(Imm(0x88), even[1], even[0], y[c])
		VSHUFF32X4(Imm(0x88), odd[1], odd[0], y[4+c])
		VSHUFF32X4(Imm(0xdd), even[1], even[0], y[8+c])
		VSHUFF32X4(Imm(0xdd), odd[1], odd[0], y[12+c])
	}
	return y
}

// copyRows handles rows of up to two vectors.
func (s *isa) copyRows() {
	s.text("copyRows", "dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int")
	dst, src := base("dst"), base("src")
	dstStride, srcStride := stride("dstStride"), stride("srcStride")
	rows := integer("rows")
	cols, width := s.firsts(integer("cols"), 2), s.firsts(integer("width"), 2)
	w := integer("width")
	CMPQ(w, imm(s.lanes))
	JLE(LabelRef("one"))
	for _, vectors := range []int{2, 1} {
		if vectors == 1 {
			Label("one")
		}
		loop := s.label("loop")
		Label(loop)
		for i := range vectors {
			v := s.vec()
			s.load(Mem{Base: src, Disp: i * s.bytes()}, cols[i], v)
			s.store(v, width[i], Mem{Base: dst, Disp: i * s.bytes()})
		}
		ADDQ(srcStride, src)
		ADDQ(dstStride, dst)
		DECQ(rows)
		JNZ(LabelRef(loop))
		finish()
	}
}

// copyPanels spreads rows over panels, each row as a whole: its numbers lie
// beside each other, while the next row is far away.
func (s *isa) copyPanels() {
	s.text("copyPanels", "dst []float32, panelStride int, src []float32, srcStride, rows, panels int")
	dst, src := base("dst"), base("src")
	panelStride, srcStride := stride("panelStride"), stride("srcStride")
	rows, panels := integer("rows"), integer("panels")
	Label("row")
	from, to, left, ahead := GP64(), GP64(), GP64(), GP64()
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(panels, left)
	LEAQ(Mem{Base: src, Index: srcStride, Scale: 4}, ahead)
	Label("panel")
	for at := 0; at < 2*s.bytes(); at += 64 {
		PREFETCHT0(Mem{Base: ahead, Disp: at})
	}
	for i := range 2 {
		v := s.vec()
		VMOVUPS(Mem{Base: from, Disp: i * s.bytes()}, v)
		VMOVUPS(v, Mem{Base: to, Disp: i * s.bytes()})
	}
	ADDQ(imm(2*s.bytes()), from)
	ADDQ(imm(2*s.bytes()), ahead)
	ADDQ(panelStride, to)
	DECQ(left)
	JNZ(LabelRef("panel"))
	ADDQ(srcStride, src)
	ADDQ(imm(2*s.bytes()), dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

// gatherRuns reads vectors that consist of one to four runs.
func (s *isa) gatherRuns() {
	s.text("gatherRuns", "dst []float32, dstStride int, src []float32, srcStride, count int, runs []uint64")
	dst, src, runs := base("dst"), base("src"), base("runs")
	dstStride, srcStride := stride("dstStride"), stride("srcStride")
	count, n := integer("count"), length("runs")
	CMPQ(n, Imm(2))
	JEQ(LabelRef("two"))
	CMPQ(n, Imm(3))
	JEQ(LabelRef("three"))
	CMPQ(n, Imm(4))
	JEQ(LabelRef("four"))
	for i, name := range []string{"one", "two", "three", "four"} {
		if i > 0 {
			Label(name)
		}
		var at []reg.Register
		var ks []mask
		for r := range i + 1 {
			off := GP64()
			MOVLQSX(Mem{Base: runs, Disp: 8 * r}, off)
			at = append(at, off)
			ks = append(ks, s.fromBits(Mem{Base: runs, Disp: 8*r + 4}))
		}
		loop := s.label("loop")
		Label(loop)
		v := s.vec()
		s.load(Mem{Base: src, Index: at[0], Scale: 4}, ks[0], v)
		for r := 1; r <= i; r++ {
			m := Mem{Base: src, Index: at[r], Scale: 4}
			if s.wide {
				VMOVUPS(m, ks[r].reg, v)
				continue
			}
			w := YMM()
			s.load(m, ks[r], w)
			VORPS(w, v, v)
		}
		VMOVUPS(v, Mem{Base: dst})
		ADDQ(srcStride, src)
		ADDQ(dstStride, dst)
		DECQ(count)
		JNZ(LabelRef(loop))
		finish()
	}
}

// gatherTaps reads the vectors of all taps of a position, each of which consists
// of any number of runs; bit 16 above the lanes says that more follow.
func (s *isa) gatherTaps() {
	s.text("gatherTaps", "dst []float32, dstStride int, src []float32, taps int, runs []uint64")
	dst, src, runs := base("dst"), base("src"), base("runs")
	dstStride, taps := stride("dstStride"), integer("taps")
	off, v := GP64(), s.vec()
	at := Mem{Base: src, Index: off, Scale: 4}
	Label("tap")
	MOVLQSX(Mem{Base: runs}, off)
	s.load(at, s.fromBits(Mem{Base: runs, Disp: 4}), v)
	Label("more")
	ADDQ(Imm(8), runs)
	TESTB(Imm(1), Mem{Base: runs, Disp: -8 + 6})
	JZ(LabelRef("whole"))
	MOVLQSX(Mem{Base: runs}, off)
	k := s.fromBits(Mem{Base: runs, Disp: 4})
	if s.wide {
		VMOVUPS(at, k.reg, v)
	} else {
		w := YMM()
		s.load(at, k, w)
		VORPS(w, v, v)
	}
	JMP(LabelRef("more"))
	Label("whole")
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(dstStride, dst)
	DECQ(taps)
	JNZ(LabelRef("tap"))
	finish()
}

// fromBits makes a mask of the low bits of a word.
func (s *isa) fromBits(m Mem) mask {
	if s.wide {
		k := K()
		KMOVW(m, k)
		return mask{k}
	}
	y, lane := YMM(), s.laneBits()
	VPBROADCASTD(m, y)
	VPAND(lane, y, y)
	VPCMPEQD(lane, y, y)
	return mask{y}
}

// laneBits returns 1 << lane in every lane.
func (s *isa) laneBits() Mem {
	const key = 0xffffffff // no number
	if m, ok := s.constants[key]; ok {
		return m
	}
	m := GLOBL("lanes"+s.name, RODATA|NOPTR)
	for i := range s.lanes {
		DATA(4*i, U32(1<<i))
	}
	if s.constants == nil {
		s.constants = make(map[uint32]Mem)
	}
	s.constants[key] = m
	return m
}

// gatherLanes reads vectors lane by lane; at is negative where there is no value.
func (s *isa) gatherLanes() {
	s.text("gatherLanes", "dst []float32, dstStride int, src []float32, srcStride, count int, at []int32")
	dst, src := base("dst"), base("src")
	dstStride, srcStride, count := stride("dstStride"), stride("srcStride"), integer("count")
	at, index := base("at"), s.vec()
	if s.wide {
		VMOVDQU32(Mem{Base: at}, index)
	} else {
		VMOVDQU(Mem{Base: at}, index)
	}
	all := s.zero()
	var valid mask
	if s.wide {
		valid = mask{K()}
		VPCMPD(Imm(2), index, all, valid.reg) // 0 <= index
	} else {
		// Gathering goes by sign bits; those of the valid lanes are 0.
		minus := YMM()
		VPCMPEQD(minus, minus, minus)
		VPXOR(index, minus, all)
		valid = mask{all}
	}
	Label("loop")
	v := s.zero()
	m := Mem{Base: src, Index: index, Scale: 4}
	if s.wide {
		k := K()
		KMOVW(valid.reg, k)
		VGATHERDPS(m, k, v)
	} else {
		k := YMM()
		VMOVDQA(valid.reg, k)
		VGATHERDPS(k, m, v)
	}
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(srcStride, src)
	ADDQ(dstStride, dst)
	DECQ(count)
	JNZ(LabelRef("loop"))
	finish()
}
