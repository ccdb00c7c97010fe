package cpu

import "math"

// unit sets every row of u to that of x divided by its length, and lengths to
// the lengths, which is 0 for a row of zeros.
func (e *Engine) unit(u []float32, lengths []float64, x []float32) {
	h := len(x) / len(lengths)
	e.eachRow(len(lengths), func(r int) {
		from, to := x[r*h:(r+1)*h], u[r*h:(r+1)*h]
		n := math.Sqrt(e.kernels.spread(from, 0))
		lengths[r] = n
		if n == 0 {
			clear(to)
			return
		}
		for i, v := range from {
			to[i] = float32(float64(v) / n)
		}
	})
}

// units returns unit rows of a and b and their lengths.
func (e *Engine) units(p *pairArgs) (ua, ub []float32, na, nb []float64) {
	ua, na = grow(&e.scratch.first, p.n*p.h), make([]float64, p.n)
	e.unit(ua, na, p.a)
	if p.same {
		return ua, ua, na, na
	}
	ub, nb = grow(&e.scratch.second, p.k*p.h), make([]float64, p.k)
	e.unit(ub, nb, p.b)
	return ua, ub, na, nb
}

func (e *Engine) cosines(p *pairArgs) {
	ua, ub, _, _ := e.units(p)
	e.dots(p, ua, ub)
	e.pool.spans(len(p.d), func(from, to int) {
		for i, v := range p.d[from:to] { // rounding may go beyond 1
			if v > 1 {
				p.d[from+i] = 1
			} else if v < -1 {
				p.d[from+i] = -1
			}
		}
	})
}

// cosineGrad: with unit vectors u and v, d(u.v)/da = (v - (u.v) u)/|a|.
func (e *Engine) cosineGrad(p *pairArgs, da, db, dd []float32) {
	ua, ub, na, nb := e.units(p)
	both := da != nil && db != nil && &da[0] == &db[0]
	if da != nil {
		g := grow(&e.scratch.third, p.n*p.h)
		e.mixRows(g, dd, ub, p.n, p.k, p.h, false, false)
		if both {
			e.mixRows(g, dd, ua, p.k, p.n, p.h, true, true)
		}
		e.tangent(da, g, ua, na)
	}
	if db != nil && !both {
		g := grow(&e.scratch.third, p.k*p.h)
		e.mixRows(g, dd, ua, p.k, p.n, p.h, true, false)
		e.tangent(db, g, ub, nb)
	}
}

// tangent sets each row of dx to the part of g that is tangent to the unit row u,
// divided by the length that the row had.
func (e *Engine) tangent(dx, g, u []float32, lengths []float64) {
	h := len(g) / len(lengths)
	e.eachRow(len(lengths), func(r int) {
		to, gr, ur := dx[r*h:(r+1)*h], g[r*h:(r+1)*h], u[r*h:(r+1)*h]
		if lengths[r] == 0 {
			clear(to)
			return
		}
		along, by := e.kernels.project(gr, ur, 0), 1/lengths[r]
		for i, v := range gr {
			to[i] = saturate((float64(v) - along*float64(ur[i])) * by)
		}
	})
}

// dotGrad: da = dd b, db = dd^T a.
func (e *Engine) dotGrad(p *pairArgs, da, db, dd []float32) {
	if da != nil {
		e.mixRows(da, dd, p.b, p.n, p.k, p.h, false, false)
	}
	if db != nil {
		e.mixRows(db, dd, p.a, p.k, p.n, p.h, true, da != nil && &da[0] == &db[0])
	}
}
