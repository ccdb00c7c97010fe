package main

import "math"

// rows writes the kernels, over rows, of layer normalization and softmax.
func (w *writer) rows() {
	w.elementwise("layerNorm", "y, x, gamma, beta []float32, center, scale, shift float32", func(k *kernel) func(x []vec) vec {
		center, scale, shift := k.broadcast("center"), lane{k.scalar("scale"), 0}, k.broadcast("shift")
		return func(x []vec) vec {
			v := k.vec()
			k.op("fsub", x[0], x[0], center)
			k.copy(v, shift)
			k.by("fmla", v, x[0], scale)
			k.op("fmla", x[2], v, x[1])
			return x[2]
		}
	}, "y", "x", "gamma", "beta")
	w.elementwise("layerNormGrad", "dx, dy, x, gamma []float32, a, b, center, c float32", func(k *kernel) func(x []vec) vec {
		a, b, center, c := lane{k.scalar("a"), 0}, lane{k.scalar("b"), 0}, k.broadcast("center"), k.broadcast("c")
		return func(x []vec) vec {
			v := k.vec()
			k.op("fmul", x[0], x[0], x[2])
			k.op("fsub", x[1], x[1], center)
			k.copy(v, c)
			k.by("fmla", v, x[1], b)
			k.by("fmla", v, x[0], a)
			return v
		}
	}, "dx", "dy", "x", "gamma")
	w.elementwise("softmaxGrad", "dx, dy, y []float32, along, scale float32", func(k *kernel) func(x []vec) vec {
		along, scale := k.broadcast("along"), lane{k.scalar("scale"), 0}
		return func(x []vec) vec {
			k.op("fsub", x[0], x[0], along)
			k.by("fmul", x[0], x[0], scale)
			k.op("fmul", x[0], x[0], x[1])
			return x[0]
		}
	}, "dx", "dy", "y")
	w.kernel("layerNormSums", "dy, x, gamma []float32, center float32", "total, along float64", (*kernel).layerNormSums)
	w.kernel("normSums", "gain, shift, dy, x []float32, center, scale float32", "", (*kernel).normSums)
	w.kernel("largest", "x []float32", "most float32", (*kernel).largest)
	w.kernel("exp", "y, x []float32, scale, most float32", "total float64", (*kernel).exp)
}

// layerNormSums rounds its terms to float32 and adds them up in float64. Beside a single
// number dy is 0.
func (k *kernel) layerNormSums() {
	dy, x, gamma, n := k.base("dy"), k.base("x"), k.base("gamma"), k.length("dy")
	center, total, along := k.broadcast("center"), k.totals(), k.totals()
	k.each(n, []reg{dy, x, gamma}, func(s part) {
		g, d, by, wide := k.read(dy, s), k.read(x, s), k.read(gamma, s), k.vectors(2)
		for i := range g {
			k.op("fmul", g[i], g[i], by[i])
			k.op("fsub", d[i], d[i], center)
			for h := range s.halves() {
				k.widen(wide[0], g[i], h)
				k.op64("fadd", total[i][h], total[i][h], wide[0])
				k.widen(wide[1], d[i], h)
				k.op64("fmla", along[i][h], wide[0], wide[1])
			}
		}
	})
	k.result("total", k.totalOf(total))
	k.result("along", k.totalOf(along))
	k.ret()
}

func (k *kernel) normSums() {
	gain, shift, dy, x, n := k.base("gain"), k.base("shift"), k.base("dy"), k.base("x"), k.length("gain")
	center, scale := k.broadcast("center"), lane{k.scalar("scale"), 0}
	k.each(n, []reg{gain, shift, dy, x}, func(s part) {
		g, d, a, b := k.read(dy, s), k.read(x, s), k.read(gain, s), k.read(shift, s)
		for i := range g {
			k.op("fsub", d[i], d[i], center)
			k.by("fmul", d[i], d[i], scale)
			k.op("fmla", a[i], g[i], d[i])
			k.op("fadd", b[i], b[i], g[i])
		}
		k.write(a, gain, s)
		k.write(b, shift, s)
	})
	k.ret()
}

// largest is fmax throughout: NaN wins.
func (k *kernel) largest() {
	x, n, low := k.base("x"), k.length("x"), k.constant(math.Inf(-1))
	most := [2]vec{k.spread(low), k.spread(low)}
	k.each(n, []reg{x}, func(s part) {
		v := k.read(x, s)
		for i := range v {
			if s.single {
				k.dup(v[i], lane{v[i], 0})
			}
			k.op("fmax", most[i], most[i], v[i])
		}
	})
	k.op("fmax", most[0], most[0], most[1])
	k.largestOf(most[0], most[0])
	k.result("most", most[0])
	k.ret()
}
