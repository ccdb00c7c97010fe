package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/vernier-ml/vernier/internal/approx"
)

// gridParam is the parameter by which kernels get a piecewise polynomial.
func (s *isa) gridParam() string {
	if s.wide {
		return ", grid []float32"
	}
	return ""
}

// grid is a piecewise polynomial, see approx, in registers: two for each
// coefficient. Only AVX-512 has permutations of that size.
type grid struct {
	bits  int // intervals are 2^-bits wide
	magic reg.VecVirtual
	coef  [][2]reg.VecVirtual
}

// grid loads the parameter of that name.
func (s *isa) grid(degree, bits int) *grid {
	// Adding it rounds to a multiple of 2^-bits whose number lies in the low bits.
	g := &grid{bits: bits, magic: s.set(s.constant(math.Ldexp(1.5*(1<<23), -bits)))}
	at := base("grid")
	for k := range degree + 1 {
		var pair [2]reg.VecVirtual
		for half := range pair {
			pair[half] = s.vec()
			VMOVUPS(Mem{Base: at, Disp: 4*approx.GridEntries*k + s.bytes()*half}, pair[half])
		}
		g.coef = append(g.coef, pair)
	}
	return g
}

// at evaluates the polynomial at t by Horner's rule.
func (g *grid) at(t reg.VecVirtual) reg.VecVirtual {
	number, r := ZMM(), ZMM()
	VADDPS(g.magic, t, number)
	VREDUCEPS(U8(g.bits<<4), t, r) // t less that multiple, both rounded to even
	look := func(k int) reg.VecVirtual {
		c := ZMM()
		VMOVAPS(number, c)
		VPERMI2PS(g.coef[k][1], g.coef[k][0], c)
		return c
	}
	y := look(len(g.coef) - 1)
	for k := len(g.coef) - 2; k >= 0; k-- {
		c := look(k)
		VFMADD213PS(c, r, y)
	}
	return y
}
