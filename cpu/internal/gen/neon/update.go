package main

// updates writes the kernels of the optimizers.
func (w *writer) updates() {
	w.kernel("sgd", "w, g, v []float32, rate, decay, momentum float32, nesterov bool", "", (*kernel).sgd)
	w.kernel("adamW", "w, g, m, v []float32, keep, beta1, gain1, beta2, gain2, rate, unbias2, eps float32", "", (*kernel).adamW)
}

// sgd has a loop without momentum, one with it and one for Nesterov's.
func (k *kernel) sgd() {
	w, g, v, n := k.base("w"), k.base("g"), k.base("v"), k.length("w")
	rate, decay, momentum := lane{k.scalar("rate"), 0}, lane{k.scalar("decay"), 0}, lane{k.scalar("momentum"), 0}
	step := func(s part, velocity func(d []vec) []vec) {
		p, d := k.read(w, s), k.read(g, s)
		for i := range p {
			k.by("fmla", d[i], p[i], decay)
		}
		for i, m := range velocity(d) {
			k.by("fmls", p[i], m, rate)
		}
		k.write(p, w, s)
	}
	with, ahead := k.label("momentum"), k.label("nesterov")
	k.line("CBNZ %v, %s", v, with)
	k.each(n, []reg{w, g}, func(s part) { step(s, func(d []vec) []vec { return d }) })
	k.ret()
	k.at(with)
	k.line("CBNZ %v, %s", k.flag("nesterov"), ahead)
	for _, nesterov := range []bool{false, true} {
		if nesterov {
			k.at(ahead)
		}
		k.each(n, []reg{w, g, v}, func(s part) {
			step(s, func(d []vec) []vec {
				old, m := k.read(v, s), k.vectors(len(d))
				for i := range d {
					k.copy(m[i], d[i])
					k.by("fmla", m[i], old[i], momentum)
				}
				k.write(m, v, s)
				if !nesterov {
					return m
				}
				for i := range d {
					k.by("fmla", d[i], m[i], momentum)
				}
				return d
			})
		})
		k.ret()
	}
}

func (k *kernel) adamW() {
	w, g, m, v, n := k.base("w"), k.base("g"), k.base("m"), k.base("v"), k.length("w")
	by := map[string]lane{}
	for _, name := range []string{"keep", "beta1", "gain1", "beta2", "gain2", "rate", "unbias2"} {
		by[name] = lane{k.scalar(name), 0}
	}
	eps := k.broadcast("eps")
	k.each(n, []reg{w, g, m, v}, func(s part) {
		d, a, b, p := k.read(g, s), k.read(m, s), k.read(v, s), k.read(w, s)
		for i := range d {
			k.by("fmul", a[i], a[i], by["beta1"])
			k.by("fmla", a[i], d[i], by["gain1"])
			k.op("fmul", d[i], d[i], d[i])
			k.by("fmul", b[i], b[i], by["beta2"])
			k.by("fmla", b[i], d[i], by["gain2"])
		}
		k.write(a, m, s)
		k.write(b, v, s)
		for i := range d {
			k.by("fmul", b[i], b[i], by["unbias2"])
			k.unary("fsqrt", b[i], b[i])
			k.op("fadd", b[i], b[i], eps)
			k.op("fdiv", a[i], a[i], b[i])
			k.by("fmul", p[i], p[i], by["keep"])
			k.by("fmls", p[i], a[i], by["rate"])
		}
		k.write(p, w, s)
	})
	k.ret()
}
