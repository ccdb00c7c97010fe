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
	vec := func(int) reg.Register { return s.vec() }
	floats := arithmetic{"tile", vec, vec, vec, func(x, y, sum reg.Register) { VFMADD231PS(x, y, sum) }}
	for v := 1; v <= 2; v++ {
		for r := 1; r <= s.rows; r++ {
			s.tile(floats, r, v)
		}
	}
}

// arithmetic is how the kernels of one name multiply, and the registers of its sums, of
// its columns and of its rows.
type arithmetic struct {
	name             string
	sum, column, row func(i int) reg.Register
	multiply         func(x, y, sum reg.Register) // adds x*y to sum
}

func (s *isa) tile(by arithmetic, rows, vectors int) {
	s.text(fmt.Sprintf("%s%dx%d", by.name, rows, vectors), "dst []float32, ldd int, c []float32, ldc int, a []float32, lda int, b []float32, ldb, k int, scale, shift, residual []float32, ldr int, ceiling float32")
	a, b := base("a"), base("b")
	k, lda, ldb := integer("k"), stride("lda"), stride("ldb")
	acc := make([][]reg.Register, rows)
	for i := range acc {
		for j := range vectors {
			sum := by.sum(i*vectors + j)
			s.clear(sum)
			acc[i] = append(acc[i], sum)
		}
	}
	// What the sums will meet is fetched meanwhile.
	ahead := func(name, by string) {
		p := base(name)
		TESTQ(p, p)
		JZ(LabelRef("no" + name + "ahead"))
		step := stride(by)
		for i := range rows {
			for at := 0; at < vectors*s.bytes(); at += 64 {
				PREFETCHT0(Mem{Base: p, Disp: at})
			}
			if i < rows-1 {
				ADDQ(step, p)
			}
		}
		Label("no" + name + "ahead")
	}
	ahead("dst", "ldd")
	ahead("residual", "ldr")
	Label("loop")
	columns := make([]reg.Register, vectors)
	for j := range columns {
		columns[j] = by.column(j)
		VMOVUPS(Mem{Base: b, Disp: j * s.bytes()}, columns[j])
	}
	// Panels of a follow each other and mostly come from the second-level cache,
	// rows of b that were not packed from farther away.
	PREFETCHT0(Mem{Base: a, Index: lda, Scale: 8})
	for at := 0; at < vectors*s.bytes(); at += 64 {
		PREFETCHT0(Mem{Base: b, Index: ldb, Scale: 8, Disp: at})
	}
	for i := range acc {
		// One load a row: the load ports would limit a broadcast in each product.
		x := by.row(i)
		VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, x)
		for j := range columns {
			by.multiply(x, columns[j], acc[i][j])
		}
	}
	ADDQ(lda, a)
	ADDQ(ldb, b)
	DECQ(k)
	JNZ(LabelRef("loop"))

	// What is done with the sums, where it is asked for.
	step := func(name string, asked reg.Register, do func()) {
		TESTQ(asked, asked)
		JZ(LabelRef("no" + name))
		do()
		Label("no" + name)
	}
	each := func(do func(i, j int), next func()) {
		for i := range acc {
			for j := range acc[i] {
				do(i, j)
			}
			if next != nil && i < rows-1 {
				next()
			}
		}
	}
	from := base("c")
	step("sum", from, func() {
		ldc := stride("ldc")
		each(func(i, j int) { VADDPS(Mem{Base: from, Disp: j * s.bytes()}, acc[i][j], acc[i][j]) }, func() { ADDQ(ldc, from) })
	})
	byRow := func(name string, op func(x, acc reg.Register)) {
		p := base(name)
		step(name, p, func() {
			var x reg.VecVirtual
			each(func(i, j int) {
				if j == 0 {
					x = s.vec()
					VBROADCASTSS(Mem{Base: p, Disp: 4 * i}, x)
				}
				op(x, acc[i][j])
			}, nil)
		})
	}
	byRow("scale", func(x, acc reg.Register) { VMULPS(x, acc, acc) })
	byRow("shift", func(x, acc reg.Register) { VADDPS(x, acc, acc) })
	residual := base("residual")
	step("residual", residual, func() {
		ldr := stride("ldr")
		each(func(i, j int) { VADDPS(Mem{Base: residual, Disp: j * s.bytes()}, acc[i][j], acc[i][j]) }, func() { ADDQ(ldr, residual) })
	})
	rectified := GP64()
	m, err := Param("ceiling").Resolve()
	if err != nil {
		panic(err)
	}
	MOVL(m.Addr, rectified.As32())
	step("ceiling", rectified, func() {
		zero, ceiling := by.column(0), by.column(1)
		s.clear(zero)
		VBROADCASTSS(m.Addr, ceiling)
		each(func(i, j int) {
			VMAXPS(acc[i][j], zero, acc[i][j]) // the second source if it is NaN
			VMINPS(acc[i][j], ceiling, acc[i][j])
		}, nil)
	})
	dst, ldd := base("dst"), stride("ldd")
	each(func(i, j int) { VMOVUPS(acc[i][j], Mem{Base: dst, Disp: j * s.bytes()}) }, func() { ADDQ(ldd, dst) })
	finish()
}
