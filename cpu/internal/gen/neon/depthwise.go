package main

import "fmt"

// depthwise writes the kernels of convolutions of one channel by one kernel.
func (w *writer) depthwise() {
	w.kernel("depthwise", "dst, src []float32, at []int, w []float32, start, ceiling float32", "", (*kernel).taps)
	for _, n := range []int{1, 3, 5, 7, 9} {
		w.kernel(fmt.Sprintf("depthwiseSums%d", n), "sums, g, src []float32, at []int", "", func(k *kernel) { k.tapSums(n) })
	}
}

// tapVectors is how many vectors of results are summed at a time, each tap's weight being
// loaded once for all.
const tapVectors = 8

func (k *kernel) taps() {
	dst, src, n, start := k.base("dst"), k.base("src"), k.length("dst"), k.broadcast("start")
	low, high := k.rectifier()
	// sums adds up the taps of some vectors and stores them.
	sums := func(s part) {
		at, w, count := k.base("at"), k.base("w"), k.length("at")
		place, weight, acc := k.reg(), k.vec(), k.vectors(s.vectors)
		for _, v := range acc {
			k.copy(v, start)
		}
		tap := k.label("tap")
		k.at(tap)
		k.line("MOVD.P 8(%v), %v", at, place)
		k.line("ADD %v<<2, %v, %v", place, src, place)
		k.load1(weight, w, 0)
		k.addImm(4, w)
		for i := 0; i < len(acc); i += 2 { // two at a time: registers are few
			k.scope(func() {
				some := s
				some.vectors, some.at = min(2, len(acc)-i), 16*i
				for j, x := range k.read(place, some) {
					k.by("fmla", acc[i+j], x, lane{weight, 0})
				}
			})
		}
		k.countDown(1, count, tap)
		for _, v := range acc {
			k.op("fmax", v, v, low)
			k.op("fmin", v, v, high)
		}
		k.write(acc, dst, s)
	}
	pointers := []reg{dst, src}
	k.loop(n, tapVectors*lanes, k.label("vectors"), pointers, func() { sums(part{vectors: tapVectors}) })
	k.eachVector(n, pointers, sums)
	k.ret()
}

// tapSums multiplies g by the places of a number of taps at a time.
func (k *kernel) tapSums(taps int) {
	g, src, n, at := k.base("g"), k.base("src"), k.length("g"), k.base("at")
	places, acc := make([]reg, taps), make([]vec, taps)
	for t := range places {
		places[t], acc[t] = k.loaded("MOVD", fmt.Sprintf("%d(%v)", 8*t, at)), k.zero()
		k.line("LSL $2, %v, %v", places[t], places[t])
	}
	k.eachVector(n, []reg{g, src}, func(s part) {
		up, x := k.read(g, s)[0], k.vec()
		for t, p := range places {
			if s.single {
				k.load1From(x, src, p)
			} else {
				k.loadFrom(x, src, p)
			}
			k.op("fmla", acc[t], x, up)
		}
	})
	sums := k.base("sums")
	for t, v := range acc {
		k.total(v)
		k.store1(v, sums, 4*t)
	}
	k.ret()
}
