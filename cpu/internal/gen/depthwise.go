package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depthwise writes the kernels of convolutions of one channel by one kernel.
func (s *isa) depthwise() {
	s.taps()
	for _, n := range []int{1, 3, 5, 7, 9} {
		s.tapSums(n)
	}
}

// tapVectors is how many vectors of results are summed at a time, each tap's weight
// being loaded once for all.
const tapVectors = 8

func (s *isa) taps() {
	s.text("depthwise", "dst, src []float32, at []int, w []float32, start, ceiling float32")
	dst, src, n := base("dst"), base("src"), length("dst")
	start := s.broadcast("start")
	least, most := s.rectifier()
	// sums adds up the taps of some vectors and stores them.
	sums := func(vectors int, k *mask) {
		at, w, count := base("at"), base("w"), length("at")
		var acc []reg.VecVirtual
		for range vectors {
			v := s.vec()
			VMOVAPS(start, v)
			acc = append(acc, v)
		}
		loop := s.label("taps")
		Label(loop)
		place, weight := GP64(), s.vec()
		MOVQ(Mem{Base: at}, place)
		VBROADCASTSS(Mem{Base: w}, weight)
		for i, v := range acc {
			m := Mem{Base: src, Index: place, Scale: 4, Disp: i * s.bytes()}
			if k == nil {
				VFMADD231PS(m, weight, v)
				continue
			}
			x := s.vec()
			s.load(m, *k, x)
			VFMADD231PS(x, weight, v)
		}
		ADDQ(Imm(8), at)
		ADDQ(Imm(4), w)
		DECQ(count)
		JNZ(LabelRef(loop))
		for i, v := range acc {
			VMAXPS(v, least, v) // the second source if it is NaN
			VMINPS(v, most, v)
			if m := (Mem{Base: dst, Disp: i * s.bytes()}); k == nil {
				VMOVUPS(v, m)
			} else {
				s.store(v, *k, m)
			}
		}
	}
	Label("blocks")
	CMPQ(n, imm(tapVectors*s.lanes))
	JLT(LabelRef("vectors"))
	sums(tapVectors, nil)
	ADDQ(imm(tapVectors*s.bytes()), dst)
	ADDQ(imm(tapVectors*s.bytes()), src)
	SUBQ(imm(tapVectors*s.lanes), n)
	JMP(LabelRef("blocks"))
	Label("vectors")
	s.each(n, []reg.Register{dst, src}, func(k *mask) { sums(1, k) })
	finish()
}

// tapSums multiplies g by the places of a number of taps at a time.
func (s *isa) tapSums(taps int) {
	s.text(fmt.Sprintf("depthwiseSums%d", taps), "sums, g, src []float32, at []int")
	g, src, n, at := base("g"), base("src"), length("g"), base("at")
	var places []reg.Register
	var acc []reg.VecVirtual
	for t := range taps {
		p := GP64()
		MOVQ(Mem{Base: at, Disp: 8 * t}, p)
		places, acc = append(places, p), append(acc, s.zero())
	}
	s.each(n, []reg.Register{g, src}, func(k *mask) {
		up := s.read(g, k)
		for t, p := range places {
			m := Mem{Base: src, Index: p, Scale: 4}
			if k == nil {
				VFMADD231PS(m, up, acc[t])
				continue
			}
			x := s.vec()
			s.load(m, *k, x)
			VFMADD231PS(x, up, acc[t])
		}
	})
	sums := base("sums")
	for t, v := range acc {
		s.halve(v, func(x, y, to reg.Register) { VADDPS(x, y, to) })
		VMOVSS(v.AsX(), Mem{Base: sums, Disp: 4 * t})
	}
	finish()
}
