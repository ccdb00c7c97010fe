package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// poolPlanes writes the kernels of pooling with windows of 3 columns that read maps
// where they lie. They need masks that cost nothing, so only wide vectors have them.
func (s *isa) poolPlanes() {
	if !s.wide {
		return
	}
	s.plane3("max3Plane", math.Inf(-1), s.greater)
	s.plane3("sum3Plane", 0, s.plus)
	var columns [3]Mem
	for i, name := range []string{"first", "second", "third"} {
		columns[i] = s.lanesOf(name, func(l int) int { return min(2*l+i, 31) })
	}
	s.max3Row(columns)
	s.max3RowGrad(columns)
}

// planesAhead is how many bytes ahead maps are fetched: processors see no stream in loads
// with masks.
const planesAhead = 3072

// plane3 merges the 3 x 3 cells around every cell of a map.
func (s *isa) plane3(name string, outside float64, merge func(x, y reg.VecVirtual) reg.VecVirtual) {
	s.text(name, "dst, src []float32, height, width int")
	dst, src, height, left := base("dst"), base("src"), integer("height"), integer("width")
	pitch, none := stride("width"), s.set(s.constant(outside))
	// Lanes of a vector of columns, and those whose neighbors lie in the map.
	here, before, after := K(), K(), K()
	first := GP64()
	XORQ(first, first)
	Label("block")
	bits, n := GP64(), GP64()
	MOVQ(I64(-1), bits)
	s.upTo(left, n)
	BZHIQ(n, bits, bits)
	KMOVW(bits.As32(), here)
	TESTQ(first, first)
	JNZ(LabelRef("inside"))
	ANDQ(I32(-2), bits)
	Label("inside")
	KMOVW(bits.As32(), before)
	DECQ(left)
	s.upTo(left, n)
	INCQ(left)
	MOVQ(I64(-1), bits)
	BZHIQ(n, bits, bits)
	KMOVW(bits.As32(), after)
	row := func(p reg.Register) reg.VecVirtual {
		PREFETCHT0(Mem{Base: p, Disp: planesAhead})
		cells := func(disp int, k reg.Register) reg.VecVirtual {
			v := s.vec()
			VMOVAPS(none, v)
			VMOVUPS(Mem{Base: p, Disp: disp}, k, v)
			return v
		}
		return merge(merge(cells(0, here), cells(-4, before)), cells(4, after))
	}
	from, to, rows := GP64(), GP64(), GP64()
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(height, rows)
	above, middle, below := s.vec(), s.vec(), s.vec()
	VMOVAPS(none, above)
	VMOVAPS(row(from), middle)
	Label("row")
	ADDQ(pitch, from)
	VMOVAPS(none, below)
	CMPQ(rows, Imm(1))
	JE(LabelRef("last"))
	VMOVAPS(row(from), below)
	Label("last")
	VMOVUPS(merge(merge(above, middle), below), here, Mem{Base: to})
	ADDQ(pitch, to)
	VMOVAPS(middle, above)
	VMOVAPS(below, middle)
	DECQ(rows)
	JNZ(LabelRef("row"))
	MOVQ(U32(1), first)
	ADDQ(imm(s.bytes()), src)
	ADDQ(imm(s.bytes()), dst)
	SUBQ(imm(s.lanes), left)
	JG(LabelRef("block"))
	finish()
}

// upTo sets to to n, at most 32.
func (s *isa) upTo(n, to reg.Register) {
	most := GP64()
	MOVQ(U32(32), most)
	MOVQ(n, to)
	CMPQ(to, most)
	CMOVQGT(most, to)
}

// windows15 are 15 windows of 3 columns, 2 apart: 31 cells of two vectors.
type windows15 struct {
	cells  [2]reg.Register // masks of the cells that lie in the map
	places [3]reg.VecVirtual
}

const perBlock = 15

// newWindows15 loads where the cells of each column of the windows lie.
func (s *isa) newWindows15(columns [3]Mem) windows15 {
	var w windows15
	for i, m := range columns {
		w.places[i] = s.set(m)
	}
	w.cells = [2]reg.Register{K(), K()}
	return w
}

// mask sets the masks for a block that begins at column at, which may be -1, of a map
// with left columns from there on.
func (w *windows15) mask(s *isa, at, left reg.Register) {
	bits, n := GP64(), GP64()
	MOVQ(I64(-1), bits)
	s.upTo(left, n)
	BZHIQ(n, bits, bits)
	inside := s.label("inside")
	TESTQ(at, at)
	JNS(LabelRef(inside))
	ANDQ(I32(-2), bits)
	Label(inside)
	KMOVW(bits.As32(), w.cells[0])
	SHRQ(Imm(16), bits)
	KMOVW(bits.As32(), w.cells[1])
}

// read loads the cells of a row.
func (w *windows15) read(s *isa, row reg.Register, outside reg.VecVirtual) (v [2]reg.VecVirtual) {
	for h := range v {
		v[h] = s.vec()
		PREFETCHT0(Mem{Base: row, Disp: planesAhead + h*s.bytes()})
		VMOVAPS(outside, v[h])
		VMOVUPS(Mem{Base: row, Disp: h * s.bytes()}, w.cells[h], v[h])
	}
	return v
}

// column returns the cells in one column of the windows.
func (w *windows15) column(s *isa, v [2]reg.VecVirtual, i int) reg.VecVirtual {
	x := s.vec()
	VMOVAPS(w.places[i], x)
	VPERMI2PS(v[1], v[0], x)
	return x
}

// results returns the mask of up to 15 windows of n.
func (s *isa) results(n reg.Register) reg.Register {
	most, count, bits, k := GP64(), GP64(), GP64(), K()
	MOVQ(U32(perBlock), most)
	MOVQ(n, count)
	CMPQ(count, most)
	CMOVQGT(most, count)
	MOVQ(I64(-1), bits)
	BZHIQ(count, bits, bits)
	KMOVW(bits.As32(), k)
	return k
}

// max3Row is a row of windows of max pooling.
func (s *isa) max3Row(columns [3]Mem) {
	s.text("max3Row", "dst, src []float32, width, rows, pad int")
	dst, src, n, at, left := base("dst"), base("src"), length("dst"), integer("pad"), integer("width")
	pitch, none := stride("width"), s.set(s.constant(math.Inf(-1)))
	w := s.newWindows15(columns)
	ADDQ(at, left)
	NEGQ(at)
	LEAQ(Mem{Base: src, Index: at, Scale: 4}, src)
	Label("block")
	w.mask(s, at, left)
	results := s.results(n)
	row, rows := GP64(), integer("rows")
	MOVQ(src, row)
	most := w.read(s, row, none)
	Label("row")
	DECQ(rows)
	JZ(LabelRef("merge"))
	ADDQ(pitch, row)
	for h, v := range w.read(s, row, none) {
		VMOVAPS(s.greater(most[h], v), most[h])
	}
	JMP(LabelRef("row"))
	Label("merge")
	m := s.greater(s.greater(w.column(s, most, 0), w.column(s, most, 1)), w.column(s, most, 2))
	VMOVUPS(m, results, Mem{Base: dst})
	ADDQ(imm(4*perBlock), dst)
	ADDQ(imm(8*perBlock), src)
	ADDQ(imm(2*perBlock), at)
	SUBQ(imm(2*perBlock), left)
	SUBQ(imm(perBlock), n)
	JG(LabelRef("block"))
	finish()
}

// max3RowGrad gives the gradients of a row of windows to the first of their cells that
// are their maxima.
func (s *isa) max3RowGrad(columns [3]Mem) {
	s.text("max3RowGrad", "dx, dy, x, y []float32, width, rows, pad int")
	dx, dy, x, y, n := base("dx"), base("dy"), base("x"), base("y"), length("dy")
	at, left, pitch := integer("pad"), integer("width"), stride("width")
	low, high := s.set(s.constant(math.Inf(-1))), s.set(s.constant(math.Inf(1)))
	w := s.newWindows15(columns)
	var halves [2]reg.VecVirtual
	for h, name := range []string{"lowCells", "highCells"} {
		halves[h] = s.set(s.lanesOf(name, func(l int) int { return l/2 + l%2*s.lanes + h*s.lanes/2 }))
	}
	next := s.set(s.lanesOf("next", func(l int) int { return max(l-1, 0) }))
	notFirst := K()
	bits := GP64()
	MOVQ(U32(0xfffe), bits)
	KMOVW(bits.As32(), notFirst)
	ADDQ(at, left)
	NEGQ(at)
	LEAQ(Mem{Base: x, Index: at, Scale: 4}, x)
	LEAQ(Mem{Base: dx, Index: at, Scale: 4}, dx)
	Label("block")
	w.mask(s, at, left)
	results := s.results(n)
	rest, most := s.vec(), s.vec()
	VMOVUPS_Z(Mem{Base: dy}, results, rest)
	VMOVAPS(high, most)
	VMOVUPS(Mem{Base: y}, results, most)
	from, to, rows := GP64(), GP64(), integer("rows")
	MOVQ(x, from)
	MOVQ(dx, to)
	Label("row")
	cells := w.read(s, from, low)
	var given [3]reg.VecVirtual
	for i := range given {
		is := K()
		VCMPPS(Imm(0x1d), most, w.column(s, cells, i), is) // cell >= most
		given[i] = s.vec()
		VMOVAPS_Z(rest, is, given[i])
		KNOTW(is, is)
		VMOVAPS_Z(rest, is, rest)
	}
	// The third column of a window is the first of the next.
	shifted := s.vec()
	VPERMPS_Z(given[2], next, notFirst, shifted)
	VADDPS(shifted, given[0], given[0])
	for h, place := range halves {
		v, sum := s.vec(), s.vec()
		VMOVAPS(place, v)
		VPERMI2PS(given[1], given[0], v)
		m := Mem{Base: to, Disp: h * s.bytes()}
		VMOVUPS_Z(m, w.cells[h], sum)
		VADDPS(v, sum, sum)
		VMOVUPS(sum, w.cells[h], m)
	}
	ADDQ(pitch, from)
	ADDQ(pitch, to)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(imm(4*perBlock), dy)
	ADDQ(imm(4*perBlock), y)
	for _, p := range []reg.Register{x, dx} {
		ADDQ(imm(8*perBlock), p)
	}
	ADDQ(imm(2*perBlock), at)
	SUBQ(imm(2*perBlock), left)
	SUBQ(imm(perBlock), n)
	JG(LabelRef("block"))
	finish()
}
