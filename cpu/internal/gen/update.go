package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// updates writes the kernels of the optimizers.
func (s *isa) updates() {
	s.sgd()
	s.adamW()
}

// sgd has a loop without momentum, one with it and one for Nesterov's.
func (s *isa) sgd() {
	s.text("sgd", "w, g, v []float32, rate, decay, momentum float32, nesterov bool")
	w, g, v, n := base("w"), base("g"), base("v"), length("w")
	rate, decay, momentum := s.broadcast("rate"), s.broadcast("decay"), s.broadcast("momentum")
	step := func(k *mask, velocity func(d reg.VecVirtual) reg.VecVirtual) {
		p, d := s.read(w, k), s.read(g, k)
		VFMADD231PS(decay, p, d)
		VFNMADD231PS(rate, velocity(d), p)
		s.write(p, w, k)
	}
	TESTQ(v, v)
	JNZ(LabelRef("momentum"))
	s.each(n, []reg.Register{w, g}, func(k *mask) {
		step(k, func(d reg.VecVirtual) reg.VecVirtual { return d })
	})
	finish()
	Label("momentum")
	nesterov := Load(Param("nesterov"), GP8())
	TESTB(nesterov, nesterov)
	JNZ(LabelRef("nesterov"))
	for _, ahead := range []bool{false, true} {
		if ahead {
			Label("nesterov")
		}
		s.each(n, []reg.Register{w, g, v}, func(k *mask) {
			step(k, func(d reg.VecVirtual) reg.VecVirtual {
				m := s.read(v, k)
				VFMADD213PS(d, momentum, m)
				s.write(m, v, k)
				if !ahead {
					return m
				}
				VFMADD231PS(momentum, m, d)
				return d
			})
		})
		finish()
	}
}

func (s *isa) adamW() {
	s.text("adamW", "w, g, m, v []float32, keep, beta1, gain1, beta2, gain2, rate, unbias2, eps float32")
	w, g, m, v, n := base("w"), base("g"), base("m"), base("v"), length("w")
	keep, beta1, gain1, beta2, gain2 := s.broadcast("keep"), s.broadcast("beta1"), s.broadcast("gain1"), s.broadcast("beta2"), s.broadcast("gain2")
	rate, unbias2, eps := s.broadcast("rate"), s.broadcast("unbias2"), s.broadcast("eps")
	s.each(n, []reg.Register{w, g, m, v}, func(k *mask) {
		d, a, b := s.read(g, k), s.read(m, k), s.read(v, k)
		VMULPS(beta1, a, a)
		VFMADD231PS(gain1, d, a)
		s.write(a, m, k)
		VMULPS(d, d, d)
		VMULPS(beta2, b, b)
		VFMADD231PS(gain2, d, b)
		s.write(b, v, k)
		VMULPS(unbias2, b, b)
		VSQRTPS(b, b)
		VADDPS(eps, b, b)
		VDIVPS(b, a, a)
		p := s.read(w, k)
		VMULPS(keep, p, p)
		VFNMADD231PS(rate, a, p)
		s.write(p, w, k)
	})
	finish()
}
