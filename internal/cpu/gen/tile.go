package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles writes the kernels of the matrix product, for every number of rows and
// one or two vectors of columns.
func (s *isa) tiles() {
	for v := 1; v <= 2; v++ {
		for r := 1; r <= s.rows; r++ {
			s.tile(r, v)
		}
	}
}

func (s *isa) tile(rows, vectors int) {
	s.text(fmt.Sprintf("tile%dx%d", rows, vectors), "c []float32, ldc int, a []float32, lda int, b []float32, k int, add bool")
	a, b, c := base("a"), base("b"), base("c")
	k, ldc, lda := integer("k"), stride("ldc"), stride("lda")
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
	// Panels of a follow each other and mostly come from the second-level cache.
	PREFETCHT0(Mem{Base: a, Index: lda, Scale: 8})
	for i := range acc {
		// One load a row: the load ports would limit a broadcast in each product.
		x := s.vec()
		VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, x)
		for j := range columns {
			VFMADD231PS(x, columns[j], acc[i][j])
		}
	}
	ADDQ(lda, a)
	ADDQ(imm(2*s.bytes()), b)
	DECQ(k)
	JNZ(LabelRef("loop"))

	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("store"))
	from := GP64()
	MOVQ(c, from)
	for i := range acc {
		for j := range acc[i] {
			VADDPS(Mem{Base: from, Disp: j * s.bytes()}, acc[i][j], acc[i][j])
		}
		if i < rows-1 {
			ADDQ(ldc, from)
		}
	}
	Label("store")
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
