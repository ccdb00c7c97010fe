package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// acrossTiles writes the kernels of products whose left rows are read where they lie, the
// terms of each beside each other.
func (s *isa) acrossTiles() {
	for v := 1; v <= 2; v++ {
		for r := 1; r <= s.rows; r++ {
			s.acrossTile(r, v)
		}
	}
}

func (s *isa) acrossTile(rows, vectors int) {
	s.text(fmt.Sprintf("acrossTile%dx%d", rows, vectors), "dst []float32, ldd int, add bool, a []float32, lda int, b []float32, ldb, k int")
	a, b, k, lda, ldb := base("a"), base("b"), integer("k"), stride("lda"), stride("ldb")
	// Row i is an odd number of rows away, times 1, 2, 4 or 8.
	odd := map[int]reg.Register{1: lda}
	for n := 3; n < rows; n += 2 {
		r := GP64()
		LEAQ(Mem{Base: odd[n-2], Index: lda, Scale: 2}, r)
		odd[n] = r
	}
	row := func(i int) Mem {
		if i == 0 {
			return Mem{Base: a}
		}
		scale := i & -i
		return Mem{Base: a, Index: odd[i/scale], Scale: uint8(scale)}
	}
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		for range vectors {
			acc[i] = append(acc[i], s.zero())
		}
	}
	Label("loop")
	columns := make([]reg.VecVirtual, vectors)
	for j := range columns {
		columns[j] = s.vec()
		VMOVUPS(Mem{Base: b, Disp: j * s.bytes()}, columns[j])
	}
	for i := range acc {
		x := s.vec()
		VBROADCASTSS(row(i), x)
		for j := range columns {
			VFMADD231PS(x, columns[j], acc[i][j])
		}
	}
	ADDQ(Imm(4), a)
	ADDQ(ldb, b)
	DECQ(k)
	JNZ(LabelRef("loop"))
	dst, ldd := base("dst"), stride("ldd")
	each := func(do func(i, j int), p reg.Register) {
		for i := range acc {
			for j := range acc[i] {
				do(i, j)
			}
			if i < rows-1 {
				ADDQ(ldd, p)
			}
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("store"))
	from := GP64()
	MOVQ(dst, from)
	each(func(i, j int) { VADDPS(Mem{Base: from, Disp: j * s.bytes()}, acc[i][j], acc[i][j]) }, from)
	Label("store")
	each(func(i, j int) { VMOVUPS(acc[i][j], Mem{Base: dst, Disp: j * s.bytes()}) }, dst)
	finish()
}
