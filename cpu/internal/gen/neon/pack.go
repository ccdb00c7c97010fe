package main

import "fmt"

// packing writes the kernels that bring operands into panels.
func (w *writer) packing() {
	w.kernel("transposeBlocks", "dst []float32, dstStride int, src []float32, srcStride, rows, cols int", "", (*kernel).transposeBlocks)
	w.kernel("copyRows", "dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int", "", (*kernel).copyRows)
	w.kernel("copyPanels", "dst []float32, panelStride int, src []float32, srcStride, rows, panels int", "", (*kernel).copyPanels)
	w.kernel("fetch", "x []float32", "", (*kernel).fetch)
	w.kernel("gatherWhole", "dst []float32, dstStride int, src []float32, srcStride, count int", "", (*kernel).gatherWhole)
	w.kernel("gatherLanes", "dst []float32, dstStride int, src []float32, srcStride, count int, at []int32", "", (*kernel).gatherLanes)
	w.kernel("gatherTaps", "dst []float32, dstStride int, src []float32, taps int, runs []uint64", "", (*kernel).gatherTaps)
}

// transposed returns the columns of a square of rows.
func (k *kernel) transposed(x []vec) []vec {
	t := k.vectors(lanes)
	for i := range 2 { // rows 2i and 2i+1: even columns, odd columns
		k.op("trn1", t[2*i], x[2*i], x[2*i+1])
		k.op("trn2", t[2*i+1], x[2*i], x[2*i+1])
	}
	y := x // whose values are no longer needed
	for i := range 2 {
		k.op64("trn1", y[i], t[i], t[i+2])
		k.op64("trn2", y[i+2], t[i], t[i+2])
	}
	return y
}

// transposeBlocks transposes squares; rows and cols are multiples of a vector.
func (k *kernel) transposeBlocks() {
	dst, src, rows, cols := k.base("dst"), k.base("src"), k.integer("rows"), k.integer("cols")
	dstStride, srcStride := k.stride("dstStride"), k.stride("srcStride")
	to, left, x := k.reg(), k.reg(), k.vectors(lanes)
	row, block := k.label("row"), k.label("block")
	var at [lanes]reg
	for i := range at {
		at[i] = k.reg()
	}
	k.at(row)
	k.move(src, at[0])
	for i := 1; i < lanes; i++ {
		k.add(srcStride, at[i-1], at[i])
	}
	k.add(srcStride, at[lanes-1], src)
	k.move(dst, to)
	k.move(cols, left)
	k.at(block)
	for i, p := range at {
		k.load(x[i], p, 0)
		k.addImm(16, p)
	}
	k.scope(func() {
		for _, v := range k.transposed(x) {
			k.store(v, to, 0)
			k.add(dstStride, to, to)
		}
	})
	k.countDown(lanes, left, block)
	k.addImm(16, dst)
	k.countDown(lanes, rows, row)
	k.ret()
}

// copyRows copies rows of cols numbers and clears what follows up to width.
func (k *kernel) copyRows() {
	dst, src, rows, cols, width := k.base("dst"), k.base("src"), k.integer("rows"), k.integer("cols"), k.integer("width")
	dstStride, srcStride := k.stride("dstStride"), k.stride("srcStride")
	from, to, n, v, zero := k.reg(), k.reg(), k.reg(), k.vec(), k.zero()
	k.line("SUB %v, %v, %v", cols, width, width)
	row, four, rest, one, empty, clear, next := k.label("row"), k.label("four"), k.label("rest"), k.label("one"), k.label("empty"), k.label("clear"), k.label("next")
	k.at(row)
	k.move(src, from)
	k.move(dst, to)
	k.move(cols, n)
	k.compare(n, lanes, "BLT", rest)
	k.at(four)
	k.load(v, from, 0)
	k.store(v, to, 0)
	k.addImm(16, from)
	k.addImm(16, to)
	k.line("SUB $%d, %v, %v", lanes, n, n)
	k.compare(n, lanes, "BGE", four)
	k.at(rest)
	k.ifZero(n, empty)
	k.at(one)
	k.load1(v, from, 0)
	k.store1(v, to, 0)
	k.addImm(4, from)
	k.addImm(4, to)
	k.countDown(1, n, one)
	k.at(empty)
	k.move(width, n)
	k.ifZero(n, next)
	k.at(clear)
	k.store1(zero, to, 0)
	k.addImm(4, to)
	k.countDown(1, n, clear)
	k.at(next)
	k.add(srcStride, src, src)
	k.add(dstStride, dst, dst)
	k.countDown(1, rows, row)
	k.ret()
}

// copyPanels spreads rows over panels, each row as a whole.
func (k *kernel) copyPanels() {
	dst, src, rows, panels := k.base("dst"), k.base("src"), k.integer("rows"), k.integer("panels")
	panelStride, srcStride := k.stride("panelStride"), k.stride("srcStride")
	from, to, left, x := k.reg(), k.reg(), k.reg(), k.vectors(tileCols)
	row, panel := k.label("row"), k.label("panel")
	k.at(row)
	k.move(src, from)
	k.move(dst, to)
	k.move(panels, left)
	k.at(panel)
	k.loadAll(x, from, 0)
	k.addImm(16*tileCols, from)
	k.storeAll(x, to, 0)
	k.add(panelStride, to, to)
	k.countDown(1, left, panel)
	k.add(srcStride, src, src)
	k.addImm(16*tileCols, dst)
	k.countDown(1, rows, row)
	k.ret()
}

// fetch asks for cache lines of 64 bytes, into the second-level cache.
func (k *kernel) fetch() {
	const line = 64
	x, n, loop, done := k.base("x"), k.length("x"), k.label("loop"), k.label("done")
	k.ifZero(n, done)
	k.at(loop)
	k.line("PRFM (%v), PLDL2KEEP", x)
	k.addImm(line, x)
	k.line("SUBS $%d, %v, %v", line/4, n, n)
	k.jump("BGT", loop)
	k.at(done)
	k.ret()
}

// gatherWhole reads vectors whose lanes are neighbors.
func (k *kernel) gatherWhole() {
	dst, src, count := k.base("dst"), k.base("src"), k.integer("count")
	dstStride, srcStride, v, loop := k.stride("dstStride"), k.stride("srcStride"), k.vec(), k.label("loop")
	k.at(loop)
	k.load(v, src, 0)
	k.store(v, dst, 0)
	k.add(srcStride, src, src)
	k.add(dstStride, dst, dst)
	k.countDown(1, count, loop)
	k.ret()
}

// gatherLanes reads vectors lane by lane; at is negative where there is no value.
func (k *kernel) gatherLanes() {
	dst, src, count, at := k.base("dst"), k.base("src"), k.integer("count"), k.base("at")
	dstStride, srcStride, v, loop := k.stride("dstStride"), k.stride("srcStride"), k.vec(), k.label("loop")
	var places [lanes]reg
	for i := range places {
		places[i] = k.loaded("MOVW", fmt.Sprintf("%d(%v)", 4*i, at))
	}
	p := k.reg()
	k.at(loop)
	k.clear(v)
	for i, place := range places {
		none := k.label("none")
		k.line("TBNZ $63, %v, %s", place, none)
		k.line("ADD %v<<2, %v, %v", place, src, p)
		k.loadLane(lane{v, i}, p)
		k.at(none)
	}
	k.store(v, dst, 0)
	k.add(srcStride, src, src)
	k.add(dstStride, dst, dst)
	k.countDown(1, count, loop)
	k.ret()
}

// gatherTaps reads the vectors of all taps of a position, each of which consists of any
// number of runs; bit 16 above the lanes says that more follow.
func (k *kernel) gatherTaps() {
	dst, src, taps, runs, dstStride := k.base("dst"), k.base("src"), k.integer("taps"), k.base("runs"), k.stride("dstStride")
	v, p, run, bits := k.vec(), k.reg(), k.reg(), k.reg()
	tap, more, some, next := k.label("tap"), k.label("more"), k.label("some"), k.label("next")
	k.at(tap)
	k.clear(v)
	k.at(more)
	k.line("MOVD (%v), %v", runs, run)
	k.addImm(8, runs)
	k.line("SBFIZ $2, %v, $32, %v", run, p)
	k.add(src, p, p)
	k.line("UBFX $32, %v, $%d, %v", run, lanes, bits)
	k.compare(bits, 1<<lanes-1, "BNE", some)
	k.load(v, p, 0)
	k.jump("B", next)
	k.at(some)
	for i := range lanes {
		none := k.label("none")
		k.line("TBZ $%d, %v, %s", i, bits, none)
		k.loadLane(lane{v, i}, p)
		k.at(none)
		if i < lanes-1 {
			k.addImm(4, p)
		}
	}
	k.at(next)
	k.line("TBNZ $48, %v, %s", run, more)
	k.store(v, dst, 0)
	k.add(dstStride, dst, dst)
	k.countDown(1, taps, tap)
	k.ret()
}
