package main

import "fmt"

// A product's tile has up to 8 rows and 3 vectors of columns: 24 sums leave registers for
// what they are multiplied by.
const (
	tileRows = 8
	tileCols = 3 // vectors
)

// eachTile calls do for every number of rows and vectors of columns.
func eachTile(do func(rows, vectors int)) {
	for v := 1; v <= tileCols; v++ {
		for r := 1; r <= tileRows; r++ {
			do(r, v)
		}
	}
}

// sums takes and clears the sums of a tile.
func (k *kernel) sums(rows, vectors int) [][]vec {
	acc := make([][]vec, rows)
	for i := range acc {
		for range vectors {
			acc[i] = append(acc[i], k.zero())
		}
	}
	return acc
}

func (k *kernel) vectors(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = k.vec()
	}
	return v
}

// column is a column of numbers that lie beside each other, in registers.
type column struct {
	regs  []vec
	sizes []int // numbers in each: 4, 2 or 1
}

// column takes registers for n numbers.
func (k *kernel) column(n int) (c column) {
	for _, size := range []int{4, 2, 1} {
		for n >= size {
			c.regs, c.sizes = append(c.regs, k.vec()), append(c.sizes, size)
			n -= size
		}
	}
	return c
}

// read loads the column, no number beyond it.
func (c *column) read(k *kernel, from reg) {
	if len(c.sizes) > 1 && c.sizes[1] == 4 {
		k.loadPair(c.regs[0], c.regs[1], from, 0)
		return
	}
	at := 0
	for i, size := range c.sizes {
		switch size {
		case 4:
			k.load(c.regs[i], from, at)
		case 2:
			k.load2(c.regs[i], from, at)
		case 1:
			k.load1(c.regs[i], from, at)
		}
		at += 4 * size
	}
}

// lane is number i.
func (c *column) lane(i int) lane {
	for j, size := range c.sizes {
		if i < size {
			return lane{c.regs[j], i}
		}
		i -= size
	}
	panic("beyond the column")
}

// tiles writes the kernels of the matrix product.
func (w *writer) tiles() {
	eachTile(func(rows, vectors int) {
		w.kernel(fmt.Sprintf("tile%dx%d", rows, vectors),
			"dst []float32, ldd int, c []float32, ldc int, a []float32, lda int, b []float32, ldb, k int, scale, shift, residual []float32, ldr int, ceiling float32", "",
			func(k *kernel) { k.tile(rows, vectors) })
	})
}

func (k *kernel) tile(rows, vectors int) {
	a, b, terms := k.base("a"), k.base("b"), k.integer("k")
	lda, ldb := k.stride("lda"), k.stride("ldb")
	acc := k.sums(rows, vectors)
	loop := k.label("loop")
	k.scope(func() {
		left, right := k.column(rows), k.vectors(vectors)
		k.at(loop)
		left.read(k, a)
		k.loadAll(right, b, 0)
		k.add(lda, a, a)
		k.add(ldb, b, b)
		for i := range acc {
			for j, y := range right {
				k.by("fmla", acc[i][j], y, left.lane(i))
			}
		}
		k.countDown(1, terms, loop)
	})
	k.finishTile(acc)
}

// finishTile does with the sums what is asked for and stores them.
func (k *kernel) finishTile(acc [][]vec) {
	rows, vectors := len(acc), len(acc[0])
	// asked emits do for a parameter that is not nil.
	asked := func(name string, do func(p reg)) {
		k.scope(func() {
			p, skip := k.base(name), k.label("no"+name)
			k.ifZero(p, skip)
			do(p)
			k.at(skip)
		})
	}
	plus := func(name, stride string) {
		asked(name, func(p reg) {
			step, x := k.stride(stride), k.vectors(vectors)
			for i := range acc {
				k.loadAll(x, p, 0)
				if i < rows-1 {
					k.add(step, p, p)
				}
				for j, v := range x {
					k.op("fadd", acc[i][j], acc[i][j], v)
				}
			}
		})
	}
	plus("c", "ldc")
	asked("scale", func(p reg) {
		by := k.column(rows)
		by.read(k, p)
		for i := range acc {
			for _, v := range acc[i] {
				k.by("fmul", v, v, by.lane(i))
			}
		}
	})
	asked("shift", func(p reg) {
		by, x := k.column(rows), k.vec()
		by.read(k, p)
		for i := range acc {
			k.dup(x, by.lane(i))
			for _, v := range acc[i] {
				k.op("fadd", v, v, x)
			}
		}
	})
	plus("residual", "ldr")
	k.scope(func() {
		bits, skip := k.loaded("MOVWU", k.param("ceiling", "", 0)), k.label("noceiling")
		k.ifZero(bits, skip)
		zero, ceiling := k.zero(), k.broadcast("ceiling")
		for i := range acc {
			for _, v := range acc[i] {
				k.op("fmax", v, v, zero)
				k.op("fmin", v, v, ceiling)
			}
		}
		k.at(skip)
	})
	k.storeTile(acc, k.base("dst"), k.stride("ldd"))
}

// storeTile stores the sums and returns.
func (k *kernel) storeTile(acc [][]vec, dst, ldd reg) {
	for i := range acc {
		k.storeAll(acc[i], dst, 0)
		if i < len(acc)-1 {
			k.add(ldd, dst, dst)
		}
	}
	k.ret()
}

// atOnce is how many rows are multiplied at a time where each row's terms lie beside each
// other: their terms take a register a row.
const atOnce = 4

// someRows calls do for rows [from, to), at most atOnce of them.
func someRows(rows int, do func(from, to int)) {
	for from := 0; from < rows; from += atOnce {
		do(from, min(from+atOnce, rows))
	}
}

// acrossTiles writes the kernels of products whose left rows are read where they lie, the
// terms of each beside each other.
func (w *writer) acrossTiles() {
	eachTile(func(rows, vectors int) {
		w.kernel(fmt.Sprintf("acrossTile%dx%d", rows, vectors), "dst []float32, ldd int, add bool, a []float32, lda int, b []float32, ldb, k int", "",
			func(k *kernel) { k.acrossTile(rows, vectors) })
	})
}

func (k *kernel) acrossTile(rows, vectors int) {
	a, b, terms := make([]reg, rows), make([]reg, lanes), k.integer("k")
	lda, ldb := k.stride("lda"), k.stride("ldb")
	a[0] = k.base("a")
	for i := 1; i < rows; i++ {
		a[i] = k.reg()
		k.add(lda, a[i-1], a[i])
	}
	b[0] = k.base("b")
	for t := 1; t < lanes; t++ {
		b[t] = k.reg()
		k.add(ldb, b[t-1], b[t])
	}
	step := k.reg()
	k.line("LSL $2, %v, %v", ldb, step)
	acc := k.sums(rows, vectors)
	four, rest, one, done := k.label("four"), k.label("rest"), k.label("one"), k.label("done")
	k.compare(terms, lanes, "BLT", rest)
	left, right := k.vectors(min(rows, atOnce)), k.vectors(vectors)
	k.at(four)
	someRows(rows, func(from, to int) {
		for i := from; i < to; i++ {
			k.load(left[i-from], a[i], 0)
			k.addImm(16, a[i])
		}
		for t := range lanes {
			k.loadAll(right, b[t], 0)
			if to == rows {
				k.add(step, b[t], b[t])
			}
			for i := from; i < to; i++ {
				for j, y := range right {
					k.by("fmla", acc[i][j], y, lane{left[i-from], t})
				}
			}
		}
	})
	k.line("SUB $%d, %v, %v", lanes, terms, terms)
	k.compare(terms, lanes, "BGE", four)
	k.at(rest)
	k.ifZero(terms, done)
	k.at(one)
	k.loadAll(right, b[0], 0)
	k.add(ldb, b[0], b[0])
	someRows(rows, func(from, to int) {
		for i := from; i < to; i++ {
			x := left[i-from]
			k.load1(x, a[i], 0)
			k.addImm(4, a[i])
			for j, y := range right {
				k.by("fmla", acc[i][j], y, lane{x, 0})
			}
		}
	})
	k.countDown(1, terms, one)
	k.at(done)
	dst, ldd, store := k.base("dst"), k.stride("ldd"), k.label("store")
	k.ifZero(k.flag("add"), store)
	from := k.reg()
	k.move(dst, from)
	for i := range acc {
		k.loadAll(right, from, 0)
		if i < rows-1 {
			k.add(ldd, from, from)
		}
		for j, v := range right {
			k.op("fadd", acc[i][j], acc[i][j], v)
		}
	}
	k.at(store)
	k.storeTile(acc, dst, ldd)
}

// rowsTiles writes the products between Winograd's transforms, whose left rows are in
// blocks of a vector, each row's terms beside each other.
func (w *writer) rowsTiles() {
	eachTile(func(rows, vectors int) {
		w.kernel(fmt.Sprintf("rowsTile%dx%d", rows, vectors), "c []float32, ldc int, a []float32, next int, b []float32, blocks int", "",
			func(k *kernel) { k.rowsTile(rows, vectors) })
	})
}

func (k *kernel) rowsTile(rows, vectors int) {
	const panel = 4 * lanes * tileCols // bytes from a term of b to the next
	a, b, next, blocks := k.base("a"), k.base("b"), k.stride("next"), k.integer("blocks")
	acc := k.sums(rows, vectors)
	left, right, loop := k.vectors(min(rows, atOnce)), k.vectors(vectors), k.label("block")
	k.at(loop)
	someRows(rows, func(from, to int) {
		k.loadAll(left[:to-from], a, 16*from)
		for t := range lanes {
			k.loadAll(right, b, t*panel)
			for i := from; i < to; i++ {
				for j, y := range right {
					k.by("fmla", acc[i][j], y, lane{left[i-from], t})
				}
			}
		}
	})
	k.add(next, a, a)
	k.addImm(lanes*panel, b)
	k.countDown(1, blocks, loop)
	k.storeTile(acc, k.base("c"), k.stride("ldc"))
}
